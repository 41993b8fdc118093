package corpus

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/goccy/go-yaml"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/idem-go/idem/gen/internal/asyncapi"
	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/source"
)

const (
	repository = "../../.."
	contracts  = repository + "/gen/testdata/contracts"
)

// document is an AsyncAPI document that a test uses.
type document struct {
	name string // for messages
	fsys fs.FS  // that its references lead through
	path string // in fsys
}

// documents are all of the repository, in archives of test scripts as well.
func documents(t testing.TB) []document {
	t.Helper()
	var out []document
	err := filepath.WalkDir(repository, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && file != repository {
			return filepath.SkipDir
		}
		switch ext := filepath.Ext(file); {
		case d.IsDir():
		case ext == ".txtar":
			archive, err := txtar.ParseFile(file)
			if err != nil {
				return err
			}
			fsys := fstest.MapFS{}
			for _, f := range archive.Files {
				fsys[path.Clean(f.Name)] = &fstest.MapFile{Data: f.Data}
			}
			for _, f := range archive.Files {
				if isDocument(f.Name, f.Data) {
					out = append(out, document{file + " " + f.Name, fsys, path.Clean(f.Name)})
				}
			}
		case slices.Contains([]string{".yaml", ".yml", ".json"}, ext):
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if isDocument(file, text) {
				out = append(out, document{file, os.DirFS(filepath.Dir(file)), filepath.Base(file)})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func isDocument(name string, text []byte) bool {
	if !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name)) || !strings.Contains(string(text), "asyncapi") {
		return false
	}
	var root map[string]any
	return yaml.Unmarshal(text, &root) == nil && root["asyncapi"] != nil
}

// ofCorpus reports whether the document is one of the contracts.
func (d document) ofCorpus() bool {
	return filepath.Dir(filepath.Dir(d.name)) == filepath.Clean(contracts)
}

// problems are what idemgen has to say about a document.
func (d document) problems() []diag.Problem {
	var problems diag.List
	set := source.NewSet(d.fsys, &problems)
	asyncapi.Load(set, &problems, d.path, asyncapi.Options{MessageHeader: "message-name"})
	return problems.Sorted()
}

// value is the document as idemgen reads it, for a JSON Schema; nil if it
// cannot be read.
func (d document) value() any {
	var problems diag.List
	file := source.NewSet(d.fsys, &problems).Load(d.path, diag.Pos{})
	if file == nil {
		return nil
	}
	return value(file.Root)
}

func value(n *source.Node) any {
	switch n.Kind {
	case source.Null:
		return nil
	case source.Bool:
		return n.Text == "true"
	case source.Int, source.Float:
		return json.Number(n.Text)
	case source.String:
		return n.Text
	case source.List:
		out := make([]any, len(n.Items))
		for i, item := range n.Items {
			out[i] = value(item)
		}
		return out
	default:
		out := map[string]any{}
		for _, f := range n.Fields {
			out[f.Name] = value(f.Value)
		}
		return out
	}
}

// names are the folders of the corpus.
func names(t testing.TB) []string {
	t.Helper()
	entries, err := os.ReadDir(contracts)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	if len(out) < 12 {
		t.Fatalf("there are %d contracts only", len(out))
	}
	return out
}
