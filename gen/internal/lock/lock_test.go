package lock

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/source"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func read(text string) (*Lock, bool, []string) {
	problems := &diag.List{}
	root := fstest.MapFS{}
	if text != "" {
		root["idemgen.lock"] = &fstest.MapFile{Data: []byte(text)}
	}
	l, ok := Read(root, source.NewSet(root, problems), problems, "idemgen.lock")
	return l, ok, strs(problems)
}

func strs(l *diag.List) (out []string) {
	for _, p := range l.Sorted() {
		out = append(out, p.String())
	}
	return out
}

var full = &Lock{
	Operations: map[string]Operation{
		"faturar": {
			Recipe: Recipe{Scope: "faturar", Key: []string{"$message.payload#/pedidoId"}, Version: 2},
			Previous: []Recipe{{
				Scope: "faturar", Key: []string{"$message.header#/a~1b", "$message.payload#/x"}, Version: 1,
				Fingerprint: []string{"$message.payload#", "$message.payload#/é"},
			}},
		},
		"null": {Recipe: Recipe{Scope: "a: \"#\u00e9'", Key: []string{"$message.header#/é {"}, Version: 1, Fingerprint: []string{"none"}}, Retired: true},
	},
	Files: []string{"a/x_gen.go", "b/y.yaml"},
	User:  map[string]string{"handlers/faturar.go": "faturar", "main.go": ""},
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	for name, want := range map[string]*Lock{"full": full, "empty": {Operations: map[string]Operation{}}} {
		t.Run(name, func(t *testing.T) {
			got, ok, problems := read(string(want.Bytes()))
			if !ok || len(problems) > 0 {
				t.Fatal(ok, problems)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// A map has no order; the file has.
func TestSameLockSameBytes(t *testing.T) {
	first := string(full.Bytes())
	for range 50 {
		if got := string(full.Bytes()); got != first {
			t.Fatalf("got\n%s\nwant\n%s", got, first)
		}
	}
}

func TestNoLock(t *testing.T) {
	l, ok, problems := read("")
	if l == nil || ok || len(problems) > 0 {
		t.Error(l, ok, problems)
	}
}

func TestBadLocks(t *testing.T) {
	good := string(full.Bytes())
	for _, tc := range []struct{ name, text, want string }{
		{"merge conflict", strings.Replace(good, "files:\n", "<<<<<<< HEAD\nfiles:\n=======\n>>>>>>> x\n", 1), "idemgen.lock:32:1: IDEM124: the file has an unresolved merge conflict"},
		{"recipe changed by hand", strings.Replace(good, "/pedidoId", "/numero", 1), "idemgen.lock:11:11: IDEM124: the hash of operation \"faturar\" does not fit its recipe"},
		{"cut off", good[:len(head)+60], "IDEM124"},
		{"empty", "\n", "IDEM"},
		{"text", "hello\n", "idemgen.lock:1:1: IDEM124: the lock must be an object, is string"},
		{"no version", "files:\n  - a\n", "idemgen.lock:1:1: IDEM124: the lock has no version"},
		{"later version", "version: 2\n", "idemgen.lock:1:10: IDEM124: version 2 of the lock is unknown"},
		{"unknown member", "version: 1\nfile: x\n", `idemgen.lock:2:1: IDEM124: the lock has an unknown member "file"`},
		{"a file outside", "version: 1\nfiles:\n  - ../x\n", `idemgen.lock:3:5: IDEM124: "../x" is no file of the project`},
		{"a user's file outside", "version: 1\nuser:\n  /etc/passwd: x\n", `idemgen.lock:3:3: IDEM124: "/etc/passwd" is no file of the project`},
		{"files not a list", "version: 1\nfiles: x\n", "idemgen.lock:2:8: IDEM124: files must be a list, is string"},
		{"operations not an object", "version: 1\noperations: []\n", "idemgen.lock:2:13: IDEM124: operations must be an object, is list"},
		{"operation without scope", "version: 1\noperations:\n  a:\n    key: []\n    keyVersion: 1\n    hash: x\n", `IDEM124: operation "a" has no scope`},
		{"version 0", strings.Replace(good, "keyVersion: 2", "keyVersion: 0", 1), `IDEM124: the keyVersion of operation "faturar" must be a number from 1`},
		{"not YAML", "version: [\n", "IDEM002"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l, ok, got := read(tc.text)
			if l != nil || !ok {
				t.Errorf("got %v, %v", l, ok)
			}
			if !slices.ContainsFunc(got, func(p string) bool { return strings.Contains(p, tc.want) }) {
				t.Errorf("want %s\ngot  %s", tc.want, strings.Join(got, "\n     "))
			}
		})
	}
}

func op(id, scope string, version int, pointers ...string) *model.Operation {
	o := &model.Operation{
		ID: id, Scope: scope, ScopeWritten: scope != id, KeyVersion: version,
		Pos: diag.Pos{File: "a.yaml", Line: 1, Col: 1}, KeyPos: diag.Pos{File: "a.yaml", Line: 7, Col: 9},
	}
	for _, p := range pointers {
		o.Key = append(o.Key, model.KeyPart{Pointer: p})
	}
	return o
}

func with(o *model.Operation, f model.Fingerprint) *model.Operation {
	o.Fingerprint = f
	return o
}

// history runs Advance over the steps and returns the last.
func history(t *testing.T, steps ...[]*model.Operation) (ops map[string]Operation, problems, warnings []string) {
	t.Helper()
	l := &Lock{}
	for i, step := range steps {
		p, w := &diag.List{}, &diag.List{}
		next := l.Advance(step, p, w)
		if problems, warnings = strs(p), strs(w); len(problems) > 0 && i < len(steps)-1 {
			t.Fatalf("step %d: %q", i, problems)
		}
		l = &Lock{Operations: next}
	}
	return l.Operations, problems, warnings
}

type step = []*model.Operation

func TestRefusedChanges(t *testing.T) {
	for _, tc := range []struct {
		name  string
		steps []step
		want  string
	}{
		{"key", []step{{op("a", "a", 1, "/x")}, {op("a", "a", 1, "/y")}},
			"a.yaml:7:9: IDEM122: operation a: the key recipe changed under keyVersion 1: it was scope a, key [$message.payload#/x], fingerprint payload and is now scope a, key [$message.payload#/y], fingerprint payload: " +
				"what was processed under the old one would not be found, and its duplicates processed again (raise keyVersion to 2: both recipes are then looked up; or take the change back)"},
		{"fingerprint", []step{{op("a", "a", 1, "/x")}, {with(op("a", "a", 1, "/x"), model.Fingerprint{Pointers: []string{"/y"}})}},
			"IDEM122: operation a: the key recipe changed under keyVersion 1: it was scope a, key [$message.payload#/x], fingerprint payload and is now scope a, key [$message.payload#/x], fingerprint [$message.payload#/y]: " +
				"duplicates of what was processed under the old one would be taken for other messages"},
		{"fingerprint none", []step{{with(op("a", "a", 1, "/x"), model.Fingerprint{None: true})}, {op("a", "a", 1, "/x")}}, "fingerprint none and is now"},
		{"order of the parts", []step{{op("a", "a", 1, "/x", "/y")}, {op("a", "a", 1, "/y", "/x")}}, "a.yaml:7:9: IDEM122"},
		{"scope", []step{{op("a", "a", 3, "/x")}, {op("a", "b", 3, "/x")}}, "IDEM122: operation a: the key recipe changed under keyVersion 3: it was scope a,"},
		{"lower version", []step{{op("a", "a", 3, "/x")}, {op("a", "a", 2, "/x")}}, "a.yaml:7:9: IDEM123: operation a: keyVersion went down from 3 to 2"},
		{"lower version with another key", []step{{op("a", "a", 3, "/x")}, {op("a", "a", 2, "/y")}}, "IDEM123"},
		{"left and came back", []step{{op("a", "a", 1, "/x")}, {}, {}, {op("a", "a", 1, "/y")}}, "IDEM122"},
		{"renamed, same scope", []step{{op("a", "s", 1, "/x")}, {op("b", "s", 1, "/y")}}, "IDEM122: operation b"},
		{"left, scope taken by another", []step{{op("a", "s", 1, "/x"), op("b", "b", 1, "/z")}, {op("b", "b", 1, "/z")}, {op("b", "s", 2, "/y"), op("a", "q", 2, "/x")}, {op("b", "s", 2, "/z"), op("a", "q", 2, "/x")}}, "IDEM122: operation b"},
		{"scopes swapped, versions meet", []step{{op("a", "A", 1, "/x"), op("b", "B", 2, "/y")}, {op("a", "B", 2, "/x"), op("b", "A", 3, "/y")}}, "IDEM122: operation a"},
		{"a scope that was left, another key", []step{{op("a", "A", 1, "/x")}, {op("a", "B", 2, "/x")}, {op("a", "B", 2, "/x"), op("c", "A", 1, "/z")}}, "IDEM122: operation c"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, got, _ := history(t, tc.steps...)
			if len(got) != 1 || !strings.Contains(got[0], tc.want) {
				t.Errorf("want %s\ngot  %q", tc.want, got)
			}
		})
	}
}

func TestAllowedChanges(t *testing.T) {
	for _, tc := range []struct {
		name     string
		steps    []step
		lookups  []int // versions
		warnings int
	}{
		{"nothing", []step{{op("a", "a", 1, "/x")}, {op("a", "a", 1, "/x")}}, nil, 0},
		{"bump", []step{{op("a", "a", 1, "/x")}, {op("a", "a", 2, "/y")}}, []int{1}, 0},
		{"fingerprint with a bump", []step{{op("a", "a", 1, "/x")}, {with(op("a", "a", 2, "/x"), model.Fingerprint{None: true})}}, []int{1}, 0},
		{"order of a fingerprint", []step{
			{with(op("a", "a", 1, "/x"), model.Fingerprint{Pointers: []string{"/x", "/y"}})},
			{with(op("a", "a", 1, "/x"), model.Fingerprint{Pointers: []string{"/y", "/x", "/y"}})},
		}, nil, 0},
		{"bump, and again", []step{{op("a", "a", 1, "/x")}, {op("a", "a", 2, "/y")}, {op("a", "a", 2, "/y")}, {op("a", "a", 5, "/z")}}, []int{2, 1}, 0},
		{"bump alone", []step{{op("a", "a", 1, "/x")}, {op("a", "a", 2, "/x")}}, []int{1}, 0},
		{"scope with a bump: nothing to look up", []step{{op("a", "a", 1, "/x")}, {op("a", "b", 2, "/x")}}, nil, 1},
		{"scope there and back", []step{{op("a", "a", 1, "/x")}, {op("a", "b", 2, "/x")}, {op("a", "a", 3, "/x")}}, []int{1}, 1},
		{"renamed, same recipe", []step{{op("z", "a", 1, "/x")}, {op("a", "a", 1, "/x")}}, nil, 0},
		{"renamed with a bump", []step{{op("z", "a", 1, "/x")}, {op("a", "a", 2, "/y")}}, []int{1}, 0},
		{"left and came back the same", []step{{op("a", "a", 1, "/x")}, {}, {op("a", "a", 1, "/x")}}, nil, 0},
		{"left and came back with a bump", []step{{op("a", "a", 1, "/x")}, {}, {op("a", "a", 2, "/y")}}, []int{1}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ops, problems, warnings := history(t, tc.steps...)
			if len(problems) > 0 || len(warnings) != tc.warnings {
				t.Errorf("problems %q, warnings %q", problems, warnings)
			}
			var got []int
			for _, r := range ops["a"].Lookups() {
				got = append(got, r.Version)
			}
			if !slices.Equal(got, tc.lookups) {
				t.Errorf("looks up versions %v, want %v", got, tc.lookups)
			}
			if len(ops) != 1 || ops["a"].Retired {
				t.Errorf("the lock has %v", ops)
			}
		})
	}
}

// An operation that may have been renamed takes its keys along only if its scope
// is written down.
func TestRenamingIsRefused(t *testing.T) {
	written := func(id, scope, pointer string) *model.Operation {
		o := op(id, scope, 1, pointer)
		o.ScopeWritten = true
		return o
	}
	for name, tc := range map[string]struct {
		next    step
		refused bool
	}{
		"same key":            {step{op("b", "b", 1, "/x"), op("c", "c", 1, "/x")}, true},
		"another key":         {step{op("b", "b", 1, "/y"), op("c", "c", 1, "/x")}, true},
		"scope of the old":    {step{written("b", "a", "/x"), op("c", "c", 1, "/x")}, false},
		"scope of its own":    {step{written("b", "b", "/x"), op("c", "c", 1, "/x")}, false},
		"another scope":       {step{written("b", "orders", "/x"), op("c", "c", 1, "/x")}, false},
		"two come, one named": {step{written("b", "a", "/x"), op("d", "d", 1, "/x"), op("c", "c", 1, "/x")}, false},
		"nothing gone":        {step{op("a", "a", 1, "/x"), op("b", "b", 1, "/x"), op("c", "c", 1, "/x")}, false},
		"nothing comes":       {step{op("c", "c", 1, "/x")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems, warnings := history(t, step{op("a", "a", 1, "/x"), op("c", "c", 1, "/x")}, tc.next)
			refused := len(problems) == 1 && strings.Contains(problems[0], "IDEM131: operation b is new and a has gone") &&
				strings.Contains(problems[0], "scope: a in its x-idempotency if it is the same operation, scope: b if it is another one")
			if refused != tc.refused || !refused && len(problems) > 0 || len(warnings) > 0 {
				t.Errorf("problems %q, warnings %q", problems, warnings)
			}
		})
	}
}

// That two operations share a scope is the contract's problem, not one of
// its history.
func TestTwoInOneScope(t *testing.T) {
	_, problems, _ := history(t, step{op("a", "s", 3, "/x"), op("b", "b", 1, "/x")}, step{op("a", "s", 3, "/x"), op("b", "s", 2, "/x")})
	if len(problems) > 0 {
		t.Error(problems)
	}
}

func TestWhatLeavesIsRemembered(t *testing.T) {
	ops, _, _ := history(t, step{op("a", "a", 1, "/x")}, step{})
	if got := ops["a"]; !got.Retired || got.Version != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestPartsOfARecipe(t *testing.T) {
	o := &model.Operation{Key: []model.KeyPart{{Header: "a/~b"}, {Pointer: "/x~1y"}, {Pointer: ""}}}
	if d := cmp.Diff(o.Key, RecipeOf(o).Parts()); d != "" {
		t.Error(d)
	}
}

// Whatever the file says, reading it ends with a lock or with a problem, and a
// lock that is written again says the same.
func FuzzRead(f *testing.F) {
	f.Add(string(full.Bytes()))
	f.Add("version: 1\nfiles: [a]\nuser: {b: c}\n")
	f.Add("version: 1\noperations:\n  a: {scope: s, key: [$message.header#/x], keyVersion: 1, hash: x, previous: [{}]}\n")
	f.Fuzz(func(t *testing.T, text string) {
		l, ok, problems := read(text)
		if ok && (l == nil) != (len(problems) > 0) {
			t.Fatalf("lock %v, problems %q", l, problems)
		}
		if l == nil || !ok {
			return
		}
		again, _, problems := read(string(l.Bytes()))
		if again == nil {
			t.Fatalf("what was written cannot be read: %q\n%s", problems, l.Bytes())
		}
		if d := cmp.Diff(string(l.Bytes()), string(again.Bytes())); d != "" {
			t.Fatal(d)
		}
	})
}
