package settings

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/source"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// project makes a folder with the text as its idemgen.yaml and opens it.
func project(t *testing.T, text string) *os.Root {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, FileName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}

func load(root *os.Root) (*Settings, []string) {
	problems := &diag.List{}
	s, ok := Load(root, source.NewSet(root.FS(), problems), problems, FileName)
	var lines []string
	for _, p := range problems.Sorted() {
		lines = append(lines, p.String())
	}
	if ok != (len(lines) == 0) {
		panic("what Load returns does not fit what it reports")
	}
	return s, lines
}

func TestDefaults(t *testing.T) {
	got, problems := load(project(t, "version: 1\ncontract: asyncapi.yaml\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := &Settings{
		File: FileName, Contract: "asyncapi.yaml", Messages: "internal/messages", Handlers: "handlers", Wiring: "wiring",
		Main: ".", Docs: "docs", Transports: []string{"sqlite", "postgres", "kafka"},
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(Settings{}, "At")); d != "" {
		t.Error(d)
	}
	if at := got.Pos("contract").String(); at != "idemgen.yaml:2:1" {
		t.Errorf("contract is at %s", at)
	}
}

func TestEverySetting(t *testing.T) {
	got, problems := load(project(t, `version: 1
contract: api/asyncapi.json
messages: ./pkg/msg/
handlers: app
wiring: di
main: cmd/x
transports: [memory, kafkasqlite]
docs: site
extraFields: reject
unknownEnum: accept
messageHeader: X-Name
defaults: {ttl: 10d}
`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := &Settings{
		File: FileName, Contract: "api/asyncapi.json", Messages: "pkg/msg", Handlers: "app", Wiring: "di", Main: "cmd/x",
		Docs: "site", KeepDocs: true, Transports: []string{"memory", "kafkasqlite"},
		RejectExtraFields: true, AcceptUnknownEnum: true, MessageHeader: "X-Name",
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(Settings{}, "At", "Defaults")); d != "" {
		t.Error(d)
	}
	if got.Defaults.Get("ttl").Text != "10d" {
		t.Error("defaults were not kept")
	}
	for _, name := range Names() {
		if name != "go" && got.Pos(name).Line == 0 {
			t.Errorf("the place of %s is unknown", name)
		}
	}
}

// With a contract in Go, the messages are where the contract is.
func TestGoContract(t *testing.T) {
	got, problems := load(project(t, "version: 1\ngo: ./msg\n"))
	if len(problems) > 0 || got.Messages != "msg" || got.Go != "msg" {
		t.Errorf("got %+v, %q", got, problems)
	}
}

func TestProblems(t *testing.T) {
	const ok = "version: 1\ncontract: a.yaml\n"
	for _, tc := range []struct{ name, text, want string }{
		{"no version", "contract: a.yaml\n", "idemgen.yaml:1:1: IDEM140: the version of the file's format is missing (add version: 1)"},
		{"a later version", "version: 2\ncontract: a.yaml\n", "idemgen.yaml:1:10: IDEM140: version 2 is unknown (write version: 1, or take a newer idemgen)"},
		{"a version as text", "version: '1'\ncontract: a.yaml\n", `idemgen.yaml:1:10: IDEM140: version "1" is unknown (write version: 1, or take a newer idemgen)`},
		{"a misspelt key", ok + "transport: [sqlite]\n", `idemgen.yaml:3:1: IDEM141: there is no setting "transport" (did you mean transports?)`},
		{"letters swapped", ok + "hadnlers: x\n", `idemgen.yaml:3:1: IDEM141: there is no setting "hadnlers" (did you mean handlers?)`},
		{"nothing like it", ok + "colour: red\n", `idemgen.yaml:3:1: IDEM141: there is no setting "colour" (there are version, contract, go,`},
		{"not an object", "- a\n", "idemgen.yaml:1:1: IDEM142: the file must be an object, is list (begin with version: 1)"},
		{"an unknown transport", ok + "transports: [sqlite, rabbit]\n", `idemgen.yaml:3:22: IDEM142: there is no transport "rabbit" (there are sqlite, postgres, kafka, kafkasqlite, memory)`},
		{"a misspelt transport", ok + "transports: [postgre]\n", `idemgen.yaml:3:14: IDEM142: there is no transport "postgre" (did you mean postgres?)`},
		{"a transport twice", ok + "transports: [sqlite, sqlite]\n", `idemgen.yaml:3:22: IDEM142: transport "sqlite" is listed twice (remove one)`},
		{"no transport", ok + "transports: []\n", "idemgen.yaml:3:13: IDEM142: transports must be a list of at least one"},
		{"a policy that is none", ok + "extraFields: rejcet\n", `idemgen.yaml:3:14: IDEM142: must be ignore or reject, is "rejcet" (did you mean reject?)`},
		{"a policy that is no text", ok + "unknownEnum: true\n", `idemgen.yaml:3:14: IDEM142: must be reject or accept, is true`},
		{"a header that is none", ok + "messageHeader: 'a b'\n", `idemgen.yaml:3:16: IDEM142: messageHeader must be the name of a header, is "a b"`},
		{"defaults that are none", ok + "defaults: 3d\n", "idemgen.yaml:3:11: IDEM142: defaults must be an object, is string"},
		{"a folder above", ok + "docs: ../docs\n", `idemgen.yaml:3:7: IDEM143: "../docs" is outside the project`},
		{"a folder above in a roundabout way", ok + "handlers: a/../../b\n", `idemgen.yaml:3:11: IDEM143: "a/../../b" is outside the project`},
		{"an absolute folder", ok + "wiring: /etc\n", `idemgen.yaml:3:9: IDEM143: "/etc" must be a relative path`},
		{"a drive", ok + "wiring: 'c:x'\n", `idemgen.yaml:3:9: IDEM143: "c:x" must be a relative path`},
		{"a number as folder", ok + "main: 7\n", "idemgen.yaml:3:7: IDEM143: must be a path, is 7"},
		{"a folder that Go skips", ok + "messages: internal/_x\n", `idemgen.yaml:3:11: IDEM143: "internal/_x" is no folder for a Go package: the go command skips or refuses "_x"`},
		{"a link out of the project", ok + "docs: out\n", `idemgen.yaml:3:7: IDEM143: "out" is a symbolic link out of the project`},
		{"a folder behind a link out of the project", ok + "docs: out/x\n", `idemgen.yaml:3:7: IDEM143: "out/x" is a symbolic link out of the project`},
		{"a file for a folder", ok + "docs: idemgen.yaml\n", `idemgen.yaml:3:7: IDEM143: "idemgen.yaml" is a file, not a folder`},
		{"the contract is a folder", "version: 1\ncontract: .\n", `idemgen.yaml:2:11: IDEM143: "." is a folder`},
		{"no contract", "version: 1\n", "idemgen.yaml:1:1: IDEM144: there is no contract"},
		{"two contracts", ok + "go: msg\n", "idemgen.yaml:3:1: IDEM144: contract and go exclude each other (keep one)"},
		{"two packages in a folder", ok + "messages: x\nhandlers: X\n", `idemgen.yaml:4:11: IDEM144: messages and handlers are both in "X"`},
		{"a package where wiring goes", ok + "messages: wiring/kafka\n", `idemgen.yaml:3:11: IDEM144: messages and wiring are both in "wiring/kafka"`},
		{"messages apart from a contract in Go", "version: 1\ngo: msg\nmessages: other\n", `idemgen.yaml:3:11: IDEM144: the messages are in "msg" already`},
		{"not YAML", "version: [1\n", "IDEM002"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := project(t, tc.text)
			if err := os.Symlink(t.TempDir(), filepath.Join(root.Name(), "out")); err != nil {
				t.Fatal(err)
			}
			_, got := load(root)
			if !slices.ContainsFunc(got, func(line string) bool { return strings.Contains(line, tc.want) }) {
				t.Errorf("want %s\ngot  %s", tc.want, strings.Join(got, "\n     "))
			}
		})
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	_, got := load(project(t, "version: 9\ncontract: /a\nextra: 1\ntransports: [x]\nmessageHeader: ''\n"))
	if len(got) != 5 {
		t.Errorf("want 5 problems, got %d:\n%s", len(got), strings.Join(got, "\n"))
	}
}

func TestImportPath(t *testing.T) {
	top := t.TempDir()
	sub := filepath.Join(top, "a", "b")
	if err := os.MkdirAll(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, mod, dir, want, problem string }{
		{"in the module's folder", "module example.com/m\n", top, "example.com/m", ""},
		{"below it", "// a comment\nmodule example.com/m // why\n\ngo 1.26\n", sub, "example.com/m/a/b", ""},
		{"quoted", "module \"example.com/m\"\n", sub, "example.com/m/a/b", ""},
		{"no module line", "go 1.26\n", sub, "", "go.mod: IDEM145: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(top, "go.mod"), []byte(tc.mod), 0o600); err != nil {
				t.Fatal(err)
			}
			problems := &diag.List{}
			if got := ImportPath(tc.dir, problems); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if got := problems.Sorted(); len(got) != min(1, len(tc.problem)) || len(got) > 0 && !strings.HasPrefix(got[0].String(), tc.problem) {
				t.Errorf("got %v, want %q", got, tc.problem)
			}
		})
	}
}
