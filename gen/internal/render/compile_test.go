package render_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/render"
	"github.com/idem-go/idem/gen/internal/scaffold"
)

// project writes a project with its generated code that is ready to build.
func project(t *testing.T, s render.Settings, contract string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a program")
	}
	t.Setenv("GOFLAGS", "")
	dir := t.TempDir()
	for name, f := range files(t, load(t, contract), s) {
		put(t, filepath.Join(dir, name), f.Body)
	}
	begun, err := scaffold.Files(scaffold.Options{Module: s.Module, Transports: s.Transports, Replace: scaffold.Checkout()})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range begun {
		if f.Path == "go.mod" {
			put(t, filepath.Join(dir, f.Path), f.Body)
		}
	}
	if err := scaffold.Prepare(t.Context(), dir, scaffold.Checkout(), &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func put(t *testing.T, name string, body []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, body, 0o644); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// What is generated builds, without a remark of go vet, and does what the
// contract says: messages are told apart by header and payload, declared
// headers are checked, events get their headers and ordering key.
func TestGeneratedCodeWorks(t *testing.T) {
	s := settings("sqlite", "postgres", "kafka", "kafkasqlite")
	former := render.Recipe{Parts: []model.KeyPart{{Header: "antigo"}}, Version: 1, Fingerprint: model.Fingerprint{Pointers: []string{"/pedido"}}}
	s.Previous = map[string][]render.Recipe{"onPedido": {former}}
	dir := project(t, s, "loja.yaml")
	behaviour, err := os.ReadFile("testdata/behaviour_test.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "internal/lojamsg/behaviour_test.go"), behaviour)
	run(t, dir, "go", "vet", "./...")
	run(t, dir, "go", "test", "./internal/...")
	for _, tag := range s.Transports {
		run(t, dir, "go", "vet", "-tags", tag, ".")
	}
}
