package settings

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/source"
)

// Load reads the settings from a file in the project's root. It reports
// everything that is wrong to problems; then ok is false, and the settings are
// those that could be read.
func Load(root *os.Root, set *source.Set, problems *diag.List, name string) (s *Settings, ok bool) {
	before := problems.Len()
	file := set.Load(name, diag.Pos{File: name})
	if file == nil {
		return &Settings{File: name}, false
	}
	l := &loader{root: root, problems: problems, file: file, out: &Settings{
		File:       name,
		Messages:   "internal/messages",
		Handlers:   "handlers",
		Wiring:     "wiring",
		Main:       ".",
		Docs:       "docs",
		Transports: []string{"sqlite", "postgres", "kafka"},
		At:         map[string]diag.Pos{},
	}}
	l.read(file.Root)
	return l.out, problems.Len() == before
}

type loader struct {
	root     *os.Root
	problems *diag.List
	file     *source.File
	out      *Settings
}

// setting is one key of the file: what reads its value.
type setting struct {
	name string
	read func(*loader, *source.Node)
}

// settings in the order of the documentation.
func known() []setting {
	return []setting{
		{"version", (*loader).version},
		{"contract", func(l *loader, n *source.Node) { l.path(n, &l.out.Contract, anyFile) }},
		{"go", func(l *loader, n *source.Node) { l.path(n, &l.out.Go, goFolder) }},
		{"messages", func(l *loader, n *source.Node) { l.path(n, &l.out.Messages, goFolder) }},
		{"handlers", func(l *loader, n *source.Node) { l.path(n, &l.out.Handlers, goFolder) }},
		{"wiring", func(l *loader, n *source.Node) { l.path(n, &l.out.Wiring, goFolder) }},
		{"main", func(l *loader, n *source.Node) { l.path(n, &l.out.Main, goFolder) }},
		{"transports", (*loader).transports},
		{"docs", func(l *loader, n *source.Node) {
			l.path(n, &l.out.Docs, anyFolder)
			l.out.KeepDocs = true
		}},
		{"extraFields", func(l *loader, n *source.Node) {
			l.out.RejectExtraFields = l.choice(n, "ignore", "reject") == "reject"
		}},
		{"unknownEnum", func(l *loader, n *source.Node) {
			l.out.AcceptUnknownEnum = l.choice(n, "reject", "accept") == "accept"
		}},
		{"messageHeader", (*loader).header},
		{"defaults", (*loader).defaults},
	}
}

// Names returns the names of the settings.
func Names() []string {
	var names []string
	for _, s := range known() {
		names = append(names, s.name)
	}
	return names
}

func (l *loader) read(n *source.Node) {
	if n.Kind != source.Map {
		l.problems.Addf(diag.BadSetting, n.Pos, "begin with version: 1", "the file must be an object, is %s", n.Kind)
		return
	}
	all := known()
	for _, f := range n.Fields {
		i := slices.IndexFunc(all, func(s setting) bool { return s.name == f.Name })
		if i < 0 {
			l.problems.Addf(diag.UnknownSetting, f.NamePos, diag.Suggest(f.Name, Names()), "there is no setting %q", f.Name)
			continue
		}
		l.out.At[f.Name] = f.NamePos
		all[i].read(l, f.Value)
	}
	if n.Get("version") == nil {
		l.problems.Addf(diag.SettingsVersion, n.Pos, "add version: 1", "the version of the file's format is missing")
	}
	l.clashes(n)
}

func (l *loader) version(n *source.Node) {
	if n.Kind != source.Int || n.Text != "1" {
		l.problems.Addf(diag.SettingsVersion, n.Pos, "write version: 1, or take a newer idemgen", "version %s is unknown", quoted(n))
	}
}

func (l *loader) transports(n *source.Node) {
	if n.Kind != source.List || len(n.Items) == 0 {
		l.bad(n, "transports must be a list of at least one", "such as [sqlite, postgres]")
		return
	}
	var names []string
	for _, item := range n.Items {
		switch {
		case item.Kind != source.String || !slices.Contains(transports, item.Text):
			l.bad(item, fmt.Sprintf("there is no transport %s", quoted(item)), diag.Suggest(item.Text, transports))
		case slices.Contains(names, item.Text):
			l.bad(item, fmt.Sprintf("transport %q is listed twice", item.Text), "remove one")
		default:
			names = append(names, item.Text)
		}
	}
	l.out.Transports = names
}

// choice returns the value if it is one of allowed.
func (l *loader) choice(n *source.Node, allowed ...string) string {
	if n.Kind == source.String && slices.Contains(allowed, n.Text) {
		return n.Text
	}
	l.bad(n, fmt.Sprintf("must be %s, is %s", strings.Join(allowed, " or "), quoted(n)), closest(n.Text, allowed))
	return ""
}

func closest(text string, allowed []string) string {
	if name := diag.Closest(text, allowed); name != "" {
		return "did you mean " + name + "?"
	}
	return ""
}

// header reads a header's name: an HTTP token, which every broker can carry.
func (l *loader) header(n *source.Node) {
	ok := n.Kind == source.String && n.Text != "" && len(n.Text) <= 120 &&
		!strings.ContainsFunc(n.Text, func(r rune) bool {
			return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_.", r))
		})
	if !ok {
		l.bad(n, fmt.Sprintf("messageHeader must be the name of a header, is %s", quoted(n)), "letters, digits, '-', '_' and '.'")
		return
	}
	l.out.MessageHeader = n.Text
}

func (l *loader) defaults(n *source.Node) {
	if n.Kind != source.Map {
		l.bad(n, fmt.Sprintf("defaults must be an object, is %s", n.Kind), "its fields are those of x-idempotency")
		return
	}
	l.out.Defaults = n
}

func (l *loader) bad(n *source.Node, message, fix string) {
	l.problems.Addf(diag.BadSetting, n.Pos, fix, "%s", message)
}

// quoted is a value as messages show it.
func quoted(n *source.Node) string {
	switch n.Kind {
	case source.String:
		return fmt.Sprintf("%q", n.Text)
	case source.List, source.Map:
		return "a " + n.Kind.String()
	default:
		return n.Text
	}
}
