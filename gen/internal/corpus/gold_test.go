package corpus

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/idem-go/idem/gen"
	"github.com/idem-go/idem/gen/internal/scaffold"
)

const module = "corpus.test"

// Each contract of the corpus becomes a project; all of them are in one module,
// so that what they share is built once. They build, go vet has no remark, and
// the gold tests of every handler pass on SQLite.
func TestGold(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program for each contract")
	}
	t.Setenv("GOFLAGS", "-trimpath") // else the build cache would not know the temporary folder again
	dir := t.TempDir()
	var wired []string
	for i, name := range names(t) {
		project := filepath.Join(dir, name)
		if err := os.CopyFS(project, os.DirFS(filepath.Join(contracts, name))); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			goMod(t, dir)
		}
		if !generate(t, project) {
			continue
		}
		implement(t, filepath.Join(project, "handlers"))
		found, err := filepath.Glob(filepath.Join(project, "wiring", "*", "wire.go"))
		if err != nil {
			t.Fatal(err)
		}
		inner, err := filepath.Glob(filepath.Join(project, "internal", "wiring", "*", "wire.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range append(found, inner...) {
			rel, err := filepath.Rel(dir, filepath.Dir(file))
			if err != nil {
				t.Fatal(err)
			}
			wired = append(wired, "./"+filepath.ToSlash(rel))
		}
	}
	if t.Failed() {
		return
	}
	run(t, dir, "go", "mod", "tidy")
	run(t, dir, append([]string{"go", "tool", "wire", "gen"}, wired...)...)
	run(t, dir, "go", "vet", "./...")
	out := run(t, dir, "go", "test", "-v", "-run", "Gold$", "./...")
	handlers := len(regexp.MustCompile(`(?m)^--- PASS: Test\w+Gold `).FindAllString(out, -1))
	if !t.Failed() && handlers < 25 {
		t.Errorf("%d gold tests ran only", handlers)
	}
	t.Logf("%d handlers of %d contracts", handlers, len(names(t)))
}

// goMod begins the module as init begins one.
func goMod(t *testing.T, dir string) {
	t.Helper()
	checkout := scaffold.Checkout()
	begun, err := scaffold.Files(scaffold.Options{Module: module, Transports: []string{"sqlite"}, Replace: checkout})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range begun {
		if f.Path == "go.mod" {
			write(t, filepath.Join(dir, "go.mod"), f.Body)
		}
	}
	sums, err := os.ReadFile(filepath.Join(checkout, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "go.sum"), sums)
}

// generate runs idemgen on a project, and again to see that nothing changes. It
// tells whether there is a project now.
func generate(t *testing.T, project string) bool {
	t.Helper()
	o := gen.Options{Config: filepath.Join(project, "idemgen.yaml")}
	report, err := gen.Generate(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range report.Problems {
		t.Errorf("%s: %s", project, p)
	}
	if !report.OK() {
		return false
	}
	if report, err = gen.Check(o); err != nil || !report.OK() {
		t.Errorf("%s: check after generate: %v\n%s", project, err, report.Diff)
	}
	return true
}

// implement gives the handlers of a project an effect and their fixtures a
// probe: the lines that the user would write.
func implement(t *testing.T, dir string) {
	t.Helper()
	for from, to := range map[string]string{"effects.go.txt": "effects.go", "probe_test.go.txt": "probe_test.go"} {
		body, err := os.ReadFile(filepath.Join("testdata", from))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, to), body)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(body)
		switch {
		case filepath.Base(file) == "schema.go":
			text = strings.Replace(text, "return nil",
				"_, err := db.Exec(ctx, `CREATE TABLE IF NOT EXISTS effects (operation TEXT NOT NULL, step TEXT NOT NULL, id TEXT NOT NULL)`)\n\treturn err", 1)
		case strings.Contains(text, "idem.ErrNotImplemented"):
			operation := operationOf(t, file, text, regexp.MustCompile(`var _ (\w+\.\w+) = `))
			text = strings.ReplaceAll(text, "return result, idem.ErrNotImplemented",
				`return result, record(ctx, h.db, "call", `+operation+`Operation(), msg.Payload, msg.Info)`)
			text = strings.ReplaceAll(text, "errs[i] = idem.ErrNotImplemented",
				`errs[i] = record(ctx, h.db, "done", `+operation+`Operation(), msgs[i].Payload, msgs[i].Info)`)
			text = strings.ReplaceAll(text, "return idem.ErrNotImplemented",
				`return record(ctx, h.db, "done", `+operation+`Operation(), msg.Payload, msg.Info)`)
		case strings.HasSuffix(file, "_fixture_test.go"):
			operation := operationOf(t, file, text, regexp.MustCompile(`idemtest\.Fixture\[(\w+\.\w+)\] \{`))
			text = strings.Replace(text, "\t\"errors\"\n", "", 1)
			text = regexp.MustCompile(`return 0, errors\.New\(.*\)`).ReplaceAllLiteralString(text,
				"return probe(ctx, w.DB(), "+operation+"Operation(), m)")
		default:
			continue
		}
		if text == string(body) {
			t.Errorf("%s is not what the test expects of a file of the user's", file)
		}
		write(t, file, []byte(text))
	}
}

// operationOf is the package and name of the operation that a file is about.
func operationOf(t *testing.T, file, text string, in *regexp.Regexp) string {
	t.Helper()
	m := in.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("%s does not name its operation:\n%s", file, text)
	}
	return m[1]
}

func write(t *testing.T, name string, body []byte) {
	t.Helper()
	if err := os.WriteFile(name, body, 0o600); err != nil {
		t.Fatal(err)
	}
}

// run runs a command and returns what it prints.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	begun := time.Now()
	defer func() { t.Logf("%v: %s", time.Since(begun).Round(10*time.Millisecond), args[1:3]) }()
	if err := cmd.Run(); err != nil {
		t.Errorf("%s: %v\n%s", strings.Join(args, " "), err, &out)
	}
	return out.String()
}
