package gosrc

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/idem-go/idem/gen/internal/diag"
)

const prefix = "//idem:"

// directive is a comment //idem:kind name=value …
type directive struct {
	kind   string
	params []param
	pos    diag.Pos
	// decl is the type it stands above, nil for the package clause.
	decl *decl
}

// param is one name=value.
type param struct {
	name, value string
	pos         diag.Pos // of the name
	valuePos    diag.Pos // of the value, inside its quotes
}

func (d *directive) get(name string) (param, bool) {
	for _, p := range d.params {
		if p.name == name {
			return p, true
		}
	}
	return param{}, false
}

// kinds are the directives and their parameters.
var kinds = map[string][]string{
	"contract":  {"title", "version"},
	"message":   {"name", "summary", "contentType", "headers"},
	"operation": operationParams,
	"send":      {"name", "topic", "message", "ordering", "summary", "description"},
}

var operationParams = []string{
	"name", "topic", "summary", "description",
	"scope", "key", "headerKey", "keyVersion", "ttl", "onMissingKey", "fingerprint", "onConflict",
	"maxAttempts", "quick", "backoff", "factor", "timeout", "onBug",
	"transaction", "result", "ordering", "deadLetter", "concurrency", "ratePerSecond",
	"dependency", "failures", "openFor", "probes", "emits", "logFields",
}

// collect reads all directives of the package.
func (l *loader) collect() {
	owners := map[*ast.CommentGroup]*decl{}
	for _, d := range l.pkg.decls {
		if d.doc != nil {
			owners[d.doc] = d
		}
	}
	for _, f := range l.pkg.files {
		for _, group := range f.ast.Comments {
			owner, isType := owners[group]
			for _, c := range group.List {
				l.comment(c, owner, isType, group == f.ast.Doc)
			}
		}
	}
}

func (l *loader) comment(c *ast.Comment, owner *decl, isType, isPackage bool) {
	at := l.pkg.pos(c.Slash)
	if rest, ok := strings.CutPrefix(c.Text, "// idem:"); ok {
		if word, _, _ := strings.Cut(rest, " "); kinds[word] != nil {
			l.problems.Addf(diag.BadDirective, at, "write //idem:"+word+" without the space", "a comment with a space after // is no directive")
		}
		return
	}
	rest, ok := strings.CutPrefix(c.Text, prefix)
	if !ok {
		return
	}
	if len(c.Text) > maxText {
		l.problems.Addf(diag.BadDirective, at, "write the directive again, with the same name, for some of its parameters", "the directive has more than %d bytes", maxText)
		return
	}
	if l.count++; l.count > maxDirectives {
		l.problems.Addf(diag.TooBig, at, "split the package", "the package has more than %d directives", maxDirectives)
		return
	}
	kind, args, _ := strings.Cut(strings.TrimRight(rest, " \t\r"), " ")
	known := kinds[kind]
	if known == nil {
		l.problems.Addf(diag.BadDirective, at, diag.Suggest(kind, []string{"contract", "message", "operation", "send"}), "there is no directive %q", prefix+kind)
		return
	}
	place := "write it above the type of a message, as part of its doc comment"
	if kind == "contract" {
		place = "write it above the package clause, as part of the package's doc comment"
	}
	allowed := isType
	switch kind {
	case "contract":
		allowed = isPackage
	case "send":
		allowed = isType || isPackage
	}
	if !allowed {
		l.problems.Addf(diag.LostDirective, at, place, "%s has no effect here", prefix+kind)
		return
	}
	d := &directive{kind: kind, pos: at, decl: owner}
	if !l.parse(d, c.Slash+token.Pos(len(prefix)+len(kind)), args, known) {
		return
	}
	switch kind {
	case "contract":
		if l.about != nil {
			l.repeated(d.pos, l.about.pos, "%s is written twice", prefix+kind)
			return
		}
		l.about = d
	case "message":
		l.declared = append(l.declared, d)
	case "operation":
		l.operations = l.join(l.operations, d)
	case "send":
		l.sends = l.join(l.sends, d)
	}
}

// parse reads name=value pairs, which begin one character after base. A value
// with spaces is in Go's double quotes.
func (l *loader) parse(d *directive, base token.Pos, args string, known []string) bool {
	ok := true
	for i := 0; i < len(args); {
		if args[i] == ' ' || args[i] == '\t' {
			i++
			continue
		}
		at := func(offset int) diag.Pos { return l.pkg.pos(base + 1 + token.Pos(offset)) }
		start := i
		for i < len(args) && args[i] != '=' && args[i] != ' ' && args[i] != '\t' {
			i++
		}
		p := param{name: args[start:i], pos: at(start)}
		if i == len(args) || args[i] != '=' || p.name == "" {
			l.problems.Addf(diag.BadDirective, p.pos, "write name=value; a value with spaces is in double quotes", "%q is not a parameter", p.name)
			ok = false
			for i < len(args) && args[i] != ' ' && args[i] != '\t' {
				i++
			}
			continue
		}
		i++
		p.valuePos = at(i)
		if strings.HasPrefix(args[i:], `"`) {
			quoted, err := strconv.QuotedPrefix(args[i:])
			if err != nil {
				l.problems.Addf(diag.BadDirective, p.valuePos, `end it with "`, "the quoted value of %s does not end", p.name)
				return false
			}
			p.valuePos = at(i + 1)
			p.value, _ = strconv.Unquote(quoted)
			i += len(quoted)
		} else {
			end := i
			for end < len(args) && args[end] != ' ' && args[end] != '\t' {
				end++
			}
			p.value, i = args[i:end], end
		}
		ok = l.accept(d, p, known) && ok
	}
	return ok
}

func (l *loader) accept(d *directive, p param, known []string) bool {
	switch first, twice := d.get(p.name); {
	case !slices.Contains(known, p.name):
		l.problems.Addf(diag.UnknownParam, p.pos, diag.Suggest(p.name, known), "%s has no parameter %q", prefix+d.kind, p.name)
		return false
	case p.value == "":
		l.problems.Addf(diag.BadParam, p.valuePos, "", "%s is empty", p.name)
		return false
	case !utf8.ValidString(p.value):
		l.problems.Addf(diag.BadParam, p.valuePos, "", "%s is not UTF-8 text", p.name)
		return false
	case twice:
		l.repeated(p.pos, first.pos, "%s is given twice", p.name)
		return false
	}
	d.params = append(d.params, p)
	return true
}

func (l *loader) repeated(at, first diag.Pos, format string, args ...any) {
	var list diag.List
	list.Addf(diag.RepeatedParam, at, "remove one", format, args...)
	p := list.Sorted()[0]
	p.Related = []diag.Related{{Pos: first, Note: "first here"}}
	l.problems.Add(p)
}

// group is all the directives about one operation or send: one on the type of
// each message, or several on one type because lines get long.
type group struct {
	name  string
	first *directive
	// decls are the types in whose doc comments it is named.
	decls    []*decl
	params   []param
	messages []*message // of a send, once they are looked up
}

func (g *group) get(name string) (param, bool) {
	return (&directive{params: g.params}).get(name)
}

// join adds a directive to the group of its name.
func (l *loader) join(groups []*group, d *directive) []*group {
	name, ok := d.get("name")
	if !ok {
		l.problems.Addf(diag.MissingParam, d.pos, "add name=…, the operation's stable name", "%s has no name", prefix+d.kind)
		return groups
	}
	if !validName(name.value) {
		l.badName(name)
		return groups
	}
	var g *group
	for _, other := range groups {
		if other.name == name.value {
			g = other
		}
	}
	if g == nil {
		g = &group{name: name.value, first: d}
		groups = append(groups, g)
	}
	if d.decl != nil && !slices.Contains(g.decls, d.decl) {
		g.decls = append(g.decls, d.decl)
	}
	for _, p := range d.params {
		switch other, twice := g.get(p.name); {
		case !twice:
			g.params = append(g.params, p)
		case other.value != p.value:
			l.repeated(p.pos, other.pos, "%s of %s is given twice, with two values", p.name, g.name)
		}
	}
	return groups
}

func (l *loader) badName(p param) {
	l.problems.Addf(diag.BadParam, p.valuePos, "use 1 to 120 letters, digits, '.', '_' or '-'", "%s %q is not a name", p.name, p.value)
}

// validName is what the library takes for operations and topics.
func validName(s string) bool {
	for _, r := range s {
		ok := r == '.' || r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !ok {
			return false
		}
	}
	return s != "" && len(s) <= 120
}
