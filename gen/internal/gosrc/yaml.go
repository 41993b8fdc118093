package gosrc

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// A document is made of object, list, string, number and bool.
type (
	object []member
	member struct {
		name  string
		value any
	}
	list   []any
	number string // as JSON writes it
)

// with adds a member unless it says nothing.
func (o *object) with(name string, value any) {
	switch v := value.(type) {
	case nil:
		return
	case string:
		if v == "" {
			return
		}
	case object:
		if len(v) == 0 {
			return
		}
	case number:
		if v == "" {
			return
		}
	}
	*o = append(*o, member{name, value})
}

// writeYAML writes a document so that each value is read as what it is, by any
// version of YAML.
func writeYAML(b *strings.Builder, v any, indent int) {
	pad := strings.Repeat("  ", indent)
	switch v := v.(type) {
	case object:
		for i, m := range v {
			if i > 0 || b.Len() > 0 && !strings.HasSuffix(b.String()[max(b.Len()-2, 0):], "- ") {
				b.WriteString(pad)
			}
			b.WriteString(quoteYAML(m.name) + ":")
			writeMember(b, m.value, indent)
		}
	case list:
		for _, item := range v {
			b.WriteString(pad + "- ")
			if o, ok := item.(object); ok && len(o) > 0 && !isReference(o) {
				writeYAML(b, o, indent+1)
				continue
			}
			if l, ok := item.(list); ok && len(l) > 0 {
				b.WriteString(flow(l) + "\n")
				continue
			}
			b.WriteString(flow(item) + "\n")
		}
	}
}

func writeMember(b *strings.Builder, v any, indent int) {
	switch v := v.(type) {
	case object:
		if len(v) > 0 && !isReference(v) {
			b.WriteString("\n")
			writeYAML(b, v, indent+1)
			return
		}
	case list:
		if len(v) > 0 && !scalars(v) {
			b.WriteString("\n")
			writeYAML(b, v, indent+1)
			return
		}
	case string:
		if strings.Contains(v, "\n") && blockable(v) {
			b.WriteString(" |-\n")
			for line := range strings.SplitSeq(v, "\n") {
				if line != "" {
					line = strings.Repeat("  ", indent+1) + line
				}
				b.WriteString(line + "\n")
			}
			return
		}
	}
	b.WriteString(" " + flow(v) + "\n")
}

// isReference: {$ref: …} is written in one line.
func isReference(o object) bool { return len(o) == 1 && o[0].name == "$ref" }

func scalars(l list) bool {
	for _, item := range l {
		switch item.(type) {
		case object, list:
			return false
		}
	}
	return true
}

// flow writes a value in one line.
func flow(v any) string {
	switch v := v.(type) {
	case object:
		parts := make([]string, len(v))
		for i, m := range v {
			parts[i] = quoteYAML(m.name) + ": " + flow(m.value)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case list:
		parts := make([]string, len(v))
		for i, item := range v {
			parts[i] = flow(item)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		return quoteYAML(v)
	case number:
		return string(v)
	case nil:
		return "null"
	default:
		return fmt.Sprint(v)
	}
}

var (
	word     = regexp.MustCompile(`^[A-Za-z$/_][A-Za-z0-9_./$-]*$`)
	reserved = regexp.MustCompile(`(?i)^(true|false|yes|no|on|off|null|y|n|nan|inf)$`)
)

// quoteYAML writes a string plainly if no reader can take it for something
// else, else in double quotes.
func quoteYAML(s string) string {
	if word.MatchString(s) && !reserved.MatchString(s) {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x10000 && !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		case !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// blockable says whether a text of several lines stays what it is in a block.
func blockable(s string) bool {
	if strings.HasPrefix(s, " ") || strings.HasPrefix(s, "\n") || strings.HasSuffix(s, "\n") {
		return false
	}
	for _, r := range s {
		if r != '\n' && !unicode.IsPrint(r) {
			return false
		}
	}
	for line := range strings.SplitSeq(s, "\n") {
		if strings.TrimRight(line, " ") != line {
			return false
		}
	}
	return true
}
