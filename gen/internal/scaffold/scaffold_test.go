package scaffold_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"go.uber.org/goleak"

	"github.com/idem-go/idem/gen"
	"github.com/idem-go/idem/gen/internal/render"
	"github.com/idem-go/idem/gen/internal/scaffold"
	"github.com/idem-go/idem/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// begin writes a project and generates its code.
func begin(t *testing.T, o scaffold.Options) string {
	t.Helper()
	dir := t.TempDir()
	files, err := scaffold.Files(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		target := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, f.Body, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	report, err := gen.Generate(gen.Options{Config: filepath.Join(dir, "idemgen.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range slices.Concat(report.Problems, report.Warnings) {
		t.Error(p)
	}
	if t.Failed() {
		t.FailNow()
	}
	return dir
}

func options(transports ...string) scaffold.Options {
	return scaffold.Options{Module: "example.com/loja", Transports: transports, Replace: scaffold.Checkout()}
}

// run runs a command in the project, offline.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// A project that init begins builds, passes its tests (the gold test on SQLite
// and the program itself on each transport whose server is there) and has
// nothing left to generate.
func TestProjectRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("builds several programs")
	}
	t.Setenv("GOFLAGS", "")
	dir := begin(t, options("sqlite", "postgres", "kafka"))
	var out bytes.Buffer
	if err := scaffold.Prepare(t.Context(), dir, scaffold.Checkout(), &out); err != nil {
		t.Fatal(err)
	}
	if want := "$ go mod tidy\n$ go tool wire gen ./wiring/...\n"; out.String() != want {
		t.Errorf("shown %q, want %q", out.String(), want)
	}
	run(t, dir, "go", "vet", "./...")
	for _, tag := range []string{"kafka", "postgres"} {
		run(t, dir, "go", "build", "-tags", tag, "-o", os.DevNull, ".")
	}
	want := append(servers(t), "TestProgram/sqlite", "TestFaturarGold", "TestFaturarGold/race")
	tested := run(t, dir, "go", "test", "-v", "./...")
	for _, want := range want {
		if want = "--- PASS: " + want; !strings.Contains(tested, want) {
			t.Errorf("go test does not say %q:\n%s", want, tested)
		}
	}
	run(t, dir, "go", "tool", "idemgen", "check")
	run(t, dir, "go", "tool", "wire", "diff", "./wiring/...")
	before := mustRead(t, filepath.Join(dir, "go.mod"))
	run(t, dir, "go", "mod", "tidy")
	if after := mustRead(t, filepath.Join(dir, "go.mod")); after != before {
		t.Errorf("go mod tidy changes go.mod:\n%s\nwas\n%s", after, before)
	}
	tryProgram(t, dir)
	// Linking two transports at once must not compile: each is the program's only one.
	cmd := exec.CommandContext(t.Context(), "go", "build", "-tags", "kafka,postgres", "-o", os.DevNull, ".")
	cmd.Dir = dir
	if got, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(got), "open redeclared") {
		t.Errorf("-tags kafka,postgres: %v\n%s", err, got)
	}
}

// servers tells the project's tests where there are real ones, and returns
// the tests that then must pass.
func servers(t *testing.T) []string {
	t.Helper()
	var tests []string
	if os.Getenv("IDEM_TEST_POSTGRES") == "" && os.Getenv("IDEM_REQUIRE") == "" {
		return nil
	}
	t.Setenv("POSTGRES_DSN", testenv.Postgres(t))
	tests = append(tests, "TestProgram/postgres")
	if brokers, real := testenv.Kafka(t); real {
		t.Setenv("KAFKA_BROKERS", strings.Join(brokers, ","))
		t.Setenv("IDEM_TOPIC_PREFIX", testenv.Topic(t)+".")
		tests = append(tests, "TestProgram/kafka")
	}
	return tests
}

func mustRead(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Whatever the transports, the YAML is well formed and servers are mentioned
// only where they are needed.
func TestServersFollowTheTransports(t *testing.T) {
	for _, tt := range []struct {
		transports      []string
		postgres, kafka bool
	}{
		{[]string{"sqlite"}, false, false},
		{[]string{"memory"}, false, false},
		{[]string{"postgres"}, true, false},
		{[]string{"kafka"}, true, true},
		{[]string{"kafkasqlite", "sqlite"}, false, true},
		{[]string{"sqlite", "postgres", "kafka", "kafkasqlite", "memory"}, true, true},
	} {
		t.Run(strings.Join(tt.transports, ","), func(t *testing.T) {
			files, err := scaffold.Files(options(tt.transports...))
			if err != nil {
				t.Fatal(err)
			}
			var compose bool
			for _, f := range files {
				if ext := filepath.Ext(f.Path); ext == ".yaml" || ext == ".yml" {
					var v any
					if err := yaml.Unmarshal(f.Body, &v); err != nil {
						t.Errorf("%s: %v", f.Path, err)
					}
				}
				compose = compose || f.Path == "compose.yaml"
				if f.Path == "compose.yaml" || strings.HasSuffix(f.Path, "ci.yml") {
					for server, wanted := range map[string]bool{"image: postgres:": tt.postgres, "image: apache/kafka:": tt.kafka} {
						if got := strings.Contains(string(f.Body), server); got != wanted {
							t.Errorf("%s: %q is there: %v, want %v", f.Path, server, got, wanted)
						}
					}
				}
			}
			if compose != (tt.postgres || tt.kafka) {
				t.Errorf("compose.yaml is there: %v", compose)
			}
		})
	}
}

// A release is required by its version; anything else needs the checkout.
func TestVersion(t *testing.T) {
	for version, released := range map[string]bool{
		"v1.2.3": true, "v0.4.0-rc.1": true, "": false, "(devel)": false, "v0.0.0": false, "v1.2.3+dirty": false,
	} {
		if got := scaffold.Released(version); got != released {
			t.Errorf("Released(%q) = %v", version, got)
		}
		o := options("sqlite")
		o.Version = version
		files, err := scaffold.Files(o)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(files, func(f render.File) bool { return f.Path == "go.mod" })
		mod := string(files[i].Body)
		if got := strings.Contains(mod, "replace "); got == released {
			t.Errorf("version %q:\n%s", version, mod)
		}
		if released && !strings.Contains(mod, "require github.com/idem-go/idem "+version+"\n") {
			t.Errorf("version %q:\n%s", version, mod)
		}
	}
	if _, err := scaffold.Files(scaffold.Options{Module: "x", Transports: []string{"sqlite"}}); err == nil {
		t.Error("neither a release nor a checkout is fine")
	}
}

// What goes wrong while preparing is told with the command and its words.
func TestPrepareFails(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module x\n\nno such line\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	err := scaffold.Prepare(t.Context(), dir, "", &bytes.Buffer{})
	if err == nil || !strings.HasPrefix(err.Error(), "go mod tidy in "+dir) || !strings.Contains(err.Error(), "unknown directive") {
		t.Error(err)
	}
}

func ExampleFiles() {
	files, err := scaffold.Files(scaffold.Options{Module: "example.com/loja", Transports: []string{"sqlite", "postgres"}, Version: "v1.0.0"})
	fmt.Println(err)
	for _, f := range files {
		fmt.Println(f.Path)
	}
	// Output:
	// <nil>
	// .github/workflows/ci.yml
	// .gitignore
	// Makefile
	// README.md
	// asyncapi.yaml
	// compose.yaml
	// doc.go
	// go.mod
	// handlers/faturar.go
	// handlers/faturar_fixture_test.go
	// handlers/schema.go
	// idemgen.yaml
	// main_test.go
}
