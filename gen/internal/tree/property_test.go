package tree

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/lock"
	"github.com/idem-go/idem/gen/internal/source"
)

// Whatever is generated in whatever order, and whatever the user writes
// between the runs: a file without our header is never changed, a run that is
// refused changes nothing, and after one that is not the tree is as planned.
func TestAnyHistory(t *testing.T) {
	names := []string{"a/x.go", "a/y.go", "b/x.go", "b/c/x.go", "b/wire.go", "b/wire_gen.go", "x.yaml"}
	rapid.Check(t, func(r *rapid.T) {
		root, err := os.OpenRoot(t.TempDir())
		if err != nil {
			r.Fatal(err)
		}
		defer func() { _ = root.Close() }()
		for range rapid.IntRange(1, 8).Draw(r, "runs") {
			for range rapid.IntRange(0, 3).Draw(r, "edits") {
				name := rapid.SampledFrom(names).Draw(r, "edited")
				text := rapid.SampledFrom([]string{"package mine\n", "", "package a // 2\n", goHeader}).Draw(r, "text")
				_ = root.MkdirAll("b/c", 0o700)
				_ = root.MkdirAll("a", 0o700)
				if err := root.WriteFile(name, []byte(text), 0o600); err != nil {
					r.Fatal(err)
				}
			}
			var files []File
			for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID[string]).Draw(r, "planned") {
				if name == "b/wire_gen.go" {
					continue // Wire's
				}
				body := fmt.Sprintf("package a // %d\n", rapid.IntRange(1, 3).Draw(r, "version"))
				if rapid.Bool().Draw(r, "once") {
					files = append(files, users(name, body, ""))
				} else {
					files = append(files, ours(name, body))
				}
			}
			history(r, root, files)
		}
	})
}

func history(r *rapid.T, root *os.Root, files []File) {
	before := snapshot(r, root)
	bad, warn := &diag.List{}, &diag.List{}
	was, _ := lock.Read(root.FS(), source.NewSet(root.FS(), bad), bad, lockName)
	if was == nil {
		r.Fatal(strs(bad))
	}
	p, err := Compare(root, files, was, bad, warn)
	if err != nil {
		r.Fatal(err)
	}
	refused := bad.Len() > 0
	if !refused {
		if err := p.Lock(lockName, nil); err != nil {
			r.Fatal(err)
		}
		if err := p.Apply(); err != nil {
			r.Fatal(err)
		}
	}
	after := snapshot(r, root)
	for name, text := range before {
		if (refused || !Owned([]byte(text))) && after[name] != text {
			r.Fatalf("%s was %q and is %q (refused: %v)", name, text, after[name], refused)
		}
	}
	if refused {
		return
	}
	for _, f := range files {
		if got := after[f.Path]; !f.Once && got != string(f.Body) {
			r.Fatalf("%s is %q", f.Path, got)
		}
	}
	for _, name := range was.Files {
		planned := slices.ContainsFunc(files, func(f File) bool { return f.Path == name })
		if !planned && Owned([]byte(after[name])) {
			r.Fatalf("%s is left over", name)
		}
	}
}

func snapshot(r *rapid.T, root *os.Root) map[string]string {
	out := map[string]string{}
	for _, dir := range []string{".", "a", "b", "b/c"} {
		entries, _ := os.ReadDir(root.Name() + "/" + dir)
		for _, e := range entries {
			if !e.Type().IsRegular() {
				continue
			}
			name := strings.TrimPrefix(dir+"/"+e.Name(), "./")
			text, err := root.ReadFile(name)
			if err != nil {
				r.Fatal(err)
			}
			if name != lockName {
				out[name] = string(text)
			}
		}
	}
	return out
}
