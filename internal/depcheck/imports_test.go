package depcheck

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/idem-go/idem"

// pkg is what `go list -json` says about a package.
type pkg struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Deps       []string
}

func TestImports(t *testing.T) {
	pkgs := list(t, "./...")
	for _, r := range rules {
		checked := 0
		for _, p := range pkgs {
			if !matches(p.ImportPath, r.packages) || !ours(p.ImportPath) || (r.except != "" && matches(p.ImportPath, r.except)) {
				continue
			}
			checked++
			for _, v := range violations(r, p, pkgs) {
				t.Errorf("%s %s\n\twhy not: %s", p.ImportPath, v, r.why)
			}
		}
		if checked == 0 {
			t.Errorf("the rule for %s is about no package: was it moved?", r.packages)
		}
	}
}

// A build tag chooses the demo's transport, and with it what the binary carries.
func TestTaggedPrograms(t *testing.T) {
	for _, tc := range []struct {
		tag   string
		never []string
	}{
		{"sqlite", concat(kafkaClients, postgresClients)},
		{"postgres", concat(kafkaClients, sqliteClients)},
		{"kafka", concat(others("kafka"), []string{"github.com/ThreeDotsLabs/watermill-sql/...", "github.com/lib/pq/..."})},
		{"kafkasqlite", concat(others("kafka"), postgresClients)},
	} {
		t.Run(tc.tag, func(t *testing.T) {
			const program = module + "/examples/pedidos"
			pkgs := list(t, "-tags="+tc.tag, program)
			if _, ok := pkgs[module+"/wiring/"+tc.tag]; !ok {
				t.Errorf("with -tags %s the program does not have wiring/%[1]s", tc.tag)
			}
			for _, v := range violations(rule{never: tc.never}, pkgs[program], pkgs) {
				t.Errorf("with -tags %s %s\n\twhy not: %s", tc.tag, v, ownProgram)
			}
		})
	}
}

// Package testing registers flags and is no part of a program; what imports it is made for tests.
func TestOnlyTestPackagesImportTesting(t *testing.T) {
	pkgs := list(t, "./...")
	for _, p := range pkgs {
		if !ours(p.ImportPath) || matchesAny(p.ImportPath, forTests) {
			continue
		}
		for _, dep := range p.Deps {
			if dep == "testing" || matchesAny(dep, forTests) {
				t.Errorf("%s\n\twhy not: it is not in the list of packages made for tests", reaches(p, dep, pkgs))
			}
		}
	}
}

// violations tells each way in which p breaks r.
func violations(r rule, p pkg, pkgs map[string]pkg) []string {
	var found []string
	if r.imports != nil {
		for _, imp := range p.Imports {
			if !pkgs[imp].Standard && !strings.HasPrefix(imp, p.ImportPath+"/") && !matchesAny(imp, r.imports) {
				found = append(found, "imports "+imp)
			}
		}
	}
	for _, pattern := range r.never {
		// One of a library's many packages is enough to tell.
		if i := slices.IndexFunc(p.Deps, func(dep string) bool { return matches(dep, pattern) }); i >= 0 {
			found = append(found, reaches(p, p.Deps[i], pkgs))
		}
	}
	return found
}

// reaches tells by which imports p gets to depend on dep.
func reaches(p pkg, dep string, pkgs map[string]pkg) string {
	chain := []string{p.ImportPath}
	for p.ImportPath != dep {
		next := slices.IndexFunc(p.Imports, func(i string) bool { return i == dep || slices.Contains(pkgs[i].Deps, dep) })
		if next < 0 {
			chain = append(chain, "…", dep)
			break
		}
		p = pkgs[p.Imports[next]]
		chain = append(chain, p.ImportPath)
	}
	return "reaches " + dep + ": " + strings.Join(chain, " → ")
}

// list runs go list with args and returns the packages and all that they depend on, by import path.
func list(t *testing.T, args ...string) map[string]pkg {
	t.Helper()
	goFiles(t) // so that go test notices when one changes, which it does not for what `go list` reads
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps", "-json=ImportPath,Standard,Imports,Deps"}, args...)...)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	pkgs := map[string]pkg{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs[p.ImportPath] = p
	}
}

func ours(path string) bool { return path == module || strings.HasPrefix(path, module+"/") }

func matchesAny(path string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(path, p) })
}

// matches tells whether the import path fits the pattern, see rule.
func matches(path, pattern string) bool {
	if rest, ok := strings.CutPrefix(pattern, "./"); ok {
		pattern = module + "/" + rest
	}
	if folder, ok := strings.CutSuffix(pattern, "/..."); ok {
		return path == folder || strings.HasPrefix(path, folder+"/")
	}
	return path == pattern
}

func TestMatches(t *testing.T) {
	for _, tc := range []struct {
		path, pattern string
		want          bool
	}{
		{module + "/middleware", "./middleware", true},
		{module + "/middleware/x", "./middleware", false},
		{module + "/middleware/x", "./middleware/...", true},
		{module + "/middleware", "./middleware/...", true},
		{module + "/middlewares", "./middleware/...", false},
		{module, "./...", true},
		{"github.com/lib/pq/oid", "github.com/lib/pq/...", true},
		{"github.com/lib/pqx", "github.com/lib/pq/...", false},
		{"testing", "testing", true},
		{"testing/fstest", "testing", false},
	} {
		if got := matches(tc.path, tc.pattern); got != tc.want {
			t.Errorf("matches(%q, %q) = %v, want %v", tc.path, tc.pattern, got, tc.want)
		}
	}
}

func TestViolations(t *testing.T) {
	pkgs := map[string]pkg{
		"time":              {ImportPath: "time", Standard: true},
		"example.com/sdk":   {ImportPath: "example.com/sdk"},
		module + "/mid":     {ImportPath: module + "/mid", Imports: []string{"example.com/sdk"}, Deps: []string{"example.com/sdk"}},
		module + "/top":     {ImportPath: module + "/top", Imports: []string{"time", module + "/mid", module + "/top/sub"}, Deps: []string{"time", module + "/mid", "example.com/sdk"}},
		module + "/top/sub": {ImportPath: module + "/top/sub"},
	}
	top := pkgs[module+"/top"]
	for _, tc := range []struct {
		name string
		rule rule
		want []string
	}{
		{"the standard library and subfolders are free", rule{imports: []string{"./mid"}}, nil},
		{"an import that is not listed", rule{imports: []string{}}, []string{"imports " + module + "/mid"}},
		{"a dependency through another package", rule{never: []string{"example.com/..."}},
			[]string{"reaches example.com/sdk: " + module + "/top → " + module + "/mid → example.com/sdk"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := violations(tc.rule, top, pkgs); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
