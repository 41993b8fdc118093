package gosrc

import (
	"fmt"
	"go/ast"
	"go/token"
	"strconv"
	"strings"

	"github.com/idem-go/idem/gen/internal/diag"
)

// fieldTag is what the tag of a struct field says.
type fieldTag struct {
	// json is the value of the json tag, "" if there is none.
	json    string
	jsonPos diag.Pos
	rules   []rule
	idemPos diag.Pos
}

// rule is a word of an idem tag: key, or name=value.
type rule struct {
	name, value string
	hasValue    bool
	quoted      bool
	pos         diag.Pos // of the name
	valuePos    diag.Pos // of the value, with its quotes
}

// tag reads the tag of a field; false after reporting what is wrong with it.
func (t *typeReader) tag(lit *ast.BasicLit) (fieldTag, bool) {
	var out fieldTag
	if lit == nil {
		return out, true
	}
	if len(lit.Value) > maxText {
		return out, t.badTag(t.pkg.pos(lit.ValuePos), "", "the struct tag has more than %d bytes", maxText)
	}
	text, err := strconv.Unquote(lit.Value)
	if err != nil {
		return out, t.badTag(t.pkg.pos(lit.ValuePos), "", "the struct tag is not a Go string")
	}
	// In back quotes each character stands where it is written.
	raw := strings.HasPrefix(lit.Value, "`") && !strings.Contains(lit.Value, "\r")
	at := func(offset int) diag.Pos {
		if !raw {
			offset = -1
		}
		return t.pkg.pos(lit.ValuePos + 1 + token.Pos(offset))
	}
	ok := true
	for i := 0; ; {
		for i < len(text) && text[i] == ' ' {
			i++
		}
		if i == len(text) {
			return out, ok
		}
		start := i
		for i < len(text) && text[i] > ' ' && text[i] != ':' && text[i] != '"' && text[i] != 0x7f {
			i++
		}
		name := text[start:i]
		if name == "" || !strings.HasPrefix(text[i:], `:"`) {
			return out, t.badTag(at(start), `a tag is name:"value", one space between two`, "the struct tag cannot be understood")
		}
		i++
		quoted, err := strconv.QuotedPrefix(text[i:])
		if err != nil {
			return out, t.badTag(at(i), `end it with ", and double each \ inside`, "the value of tag %s is not a quoted string", name)
		}
		value, offsets := unquote(quoted)
		inside := i + 1
		i += len(quoted)
		switch name {
		case "json":
			out.json, out.jsonPos = value, at(inside)
		case "idem":
			out.idemPos = at(inside)
			rules, why, where := parseRules(value, func(offset int) diag.Pos { return at(inside + offsets[offset]) })
			if why != "" {
				ok = t.badTag(where, "", "%s", why)
			}
			out.rules = append(out.rules, rules...)
		}
	}
}

func (t *typeReader) badTag(at diag.Pos, fix, format string, args ...any) bool {
	t.problems.Addf(diag.BadTag, at, fix, format, args...)
	return false
}

// unquote is strconv.Unquote of a valid string in double quotes, with the
// place inside the quotes of each byte and of the end.
func unquote(quoted string) (value string, offsets []int) {
	rest := quoted[1 : len(quoted)-1]
	total := len(rest)
	var b strings.Builder
	for rest != "" {
		at := total - len(rest)
		r, multibyte, tail, err := strconv.UnquoteChar(rest, '"')
		if err != nil { // not after QuotedPrefix
			break
		}
		if r < 0x80 || !multibyte {
			b.WriteByte(byte(r))
		} else {
			b.WriteRune(r)
		}
		for len(offsets) < b.Len() {
			offsets = append(offsets, at)
		}
		rest = tail
	}
	return b.String(), append(offsets, total)
}

// parseRules splits key,minLength=1,pattern='a,b'. A quote inside quotes is
// written twice.
func parseRules(text string, at func(int) diag.Pos) (rules []rule, why string, where diag.Pos) {
	for i := 0; i < len(text); i++ { // skips the comma
		start := i
		for i < len(text) && text[i] != '=' && text[i] != ',' {
			i++
		}
		r := rule{name: text[start:i], pos: at(start)}
		if r.name == "" || strings.TrimSpace(r.name) != r.name {
			return rules, "an idem tag is words separated by commas, without spaces", r.pos
		}
		if i < len(text) && text[i] == '=' {
			i++
			r.hasValue, r.valuePos = true, at(i)
			if strings.HasPrefix(text[i:], "'") {
				value, n := quotedValue(text[i:])
				if n == 0 {
					return rules, fmt.Sprintf("the quoted value of %s does not end", r.name), r.valuePos
				}
				r.value, r.quoted = value, true
				if i += n; i < len(text) && text[i] != ',' {
					return rules, fmt.Sprintf("after the quoted value of %s there must be a comma", r.name), at(i)
				}
			} else {
				end := i
				for end < len(text) && text[end] != ',' {
					end++
				}
				r.value, i = text[i:end], end
			}
		}
		rules = append(rules, r)
	}
	return rules, "", diag.Pos{}
}

// quotedValue reads '…' and says how long it is; 0 if it does not end.
func quotedValue(text string) (string, int) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] != '\'':
			b.WriteByte(text[i])
		case strings.HasPrefix(text[i:], "''"):
			b.WriteByte('\'')
			i++
		default:
			return b.String(), i + 1
		}
	}
	return "", 0
}
