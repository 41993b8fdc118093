package doccheck

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/idem-go/idem/framework/config"
)

const root = "../.." // of the module

var documents = []string{"README.md", "README.pt-BR.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/conformance.md"}

// Go code in a document is a piece of a Go file that the compiler sees.
func TestGoCodeOfDocumentsCompiles(t *testing.T) {
	var sources []string
	for path, text := range goFiles(t) {
		if !strings.HasSuffix(path, "docs_test.go") {
			sources = append(sources, text)
		}
	}
	for _, name := range documents {
		for _, block := range blocks(read(t, name), "go") {
			if !slices.ContainsFunc(sources, func(source string) bool { return strings.Contains(source, dedent(block)) }) {
				t.Errorf("%s: no Go file has this code:\n%s", name, block)
			}
		}
	}
}

// dedent changes nothing but trailing blank lines: blocks are written as in the file.
func dedent(block string) string { return strings.TrimRight(block, "\n") }

// A configuration in a document, and that of the example, is one that loads.
func TestConfigurationsOfDocumentsLoad(t *testing.T) {
	files := []string{filepath.Join(root, "examples/pedidos/idem.yaml")}
	for _, name := range documents {
		for _, block := range blocks(read(t, name), "yaml") {
			if kindOf(block) != idemYAML {
				continue
			}
			path := filepath.Join(t.TempDir(), "idem.yaml")
			if err := os.WriteFile(path, []byte(block), 0o600); err != nil {
				t.Fatal(err)
			}
			files = append(files, path)
		}
	}
	if len(files) < 2 {
		t.Fatal("the documents show no configuration: the test looks at the wrong thing")
	}
	for _, path := range files {
		env := []string{"DB_PASSWORD=secret"}
		if _, err := config.Load(config.Source{Path: path, Env: env}); err != nil {
			text, _ := os.ReadFile(path)
			t.Errorf("%v\n%s", err, text)
		}
	}
}

// The README in both languages shows the same code, configurations and commands.
func TestTranslationShowsTheSame(t *testing.T) {
	english, portuguese := read(t, "README.md"), read(t, "README.pt-BR.md")
	for _, language := range []string{"go", "yaml", "sh", "text"} {
		a, b := blocks(english, language), blocks(portuguese, language)
		if !slices.Equal(a, b) {
			t.Errorf("the %s blocks of README.md and README.pt-BR.md differ", language)
		}
	}
}

var (
	link         = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	testName     = regexp.MustCompile("`((?:Test|Fuzz|Benchmark|Example)[A-Za-z0-9_]*)`")
	heading      = regexp.MustCompile("(?m)^#+ `([a-z/]+)`")
	notInAnchors = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	fileRow      = regexp.MustCompile("(?m)^\\| `([A-Za-z0-9_./]+\\.[a-z]+)` \\|")
)

func TestLinksLeadSomewhere(t *testing.T) {
	for _, name := range guides(t) {
		for _, m := range link.FindAllStringSubmatch(prose(read(t, name)), -1) {
			path, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(m[1], "://") {
				continue
			}
			if path = filepath.Join(filepath.Dir(name), path); strings.HasPrefix(m[1], "#") {
				path = name
			}
			info, err := os.Stat(filepath.Join(root, path))
			switch {
			case err != nil:
				t.Errorf("%s links to %s: %v", name, m[1], err)
			case anchor != "" && (info.IsDir() || !slices.Contains(anchors(read(t, path)), anchor)):
				t.Errorf("%s links to %s, which has no such heading", name, m[1])
			}
		}
	}
}

// anchors are what the headings of a document are linked by.
func anchors(text string) (all []string) {
	for _, line := range strings.Split(prose(text), "\n") {
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			title = strings.ToLower(notInAnchors.ReplaceAllString(title, ""))
			all = append(all, strings.ReplaceAll(title, " ", "-"))
		}
	}
	return all
}

// prose is the text without its fenced blocks.
func prose(text string) string {
	var out strings.Builder
	for i, part := range strings.Split(text, "```") {
		if i%2 == 0 {
			out.WriteString(part)
		}
	}
	return out.String()
}

func TestNamedTestsExist(t *testing.T) {
	var all strings.Builder
	for path, text := range goFiles(t) {
		if strings.HasSuffix(path, "_test.go") {
			all.WriteString(text)
		}
	}
	named := 0
	for _, name := range documents {
		for _, m := range testName.FindAllStringSubmatch(read(t, name), -1) {
			named++
			if !strings.Contains(all.String(), "func "+m[1]+"(") {
				t.Errorf("%s names %s, which is no test: was it renamed?", name, m[1])
			}
		}
	}
	if named == 0 {
		t.Error("the documents name no test: the test looks at the wrong thing")
	}
}

// Below a heading that is a folder, each row of a table that begins with a file's name is about a
// file of that folder.
func TestFileMapsAreTrue(t *testing.T) {
	text := read(t, "ARCHITECTURE.md")
	sections := heading.FindAllStringSubmatchIndex(text, -1)
	if len(sections) == 0 {
		t.Fatal("ARCHITECTURE.md has no section about a folder: the test looks at the wrong thing")
	}
	for i, at := range sections {
		end := len(text)
		if i+1 < len(sections) {
			end = sections[i+1][0]
		}
		folder := text[at[2]:at[3]]
		if _, err := os.Stat(filepath.Join(root, folder)); err != nil {
			t.Errorf("ARCHITECTURE.md: %v", err)
		}
		for _, m := range fileRow.FindAllStringSubmatch(text[at[1]:end], -1) {
			if _, err := os.Stat(filepath.Join(root, folder, m[1])); err != nil {
				t.Errorf("ARCHITECTURE.md, section %s: %v", folder, err)
			}
		}
	}
}

// blocks returns the fenced blocks of a language.
func blocks(text, language string) (found []string) {
	for _, part := range strings.Split(text, "```"+language+"\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		found = append(found, block)
	}
	return found
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// goFiles returns the text of each Go file of the module.
func goFiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // somebody's temporary file
			return nil
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case filepath.Ext(path) == ".go":
			text, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			files[path] = string(text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
