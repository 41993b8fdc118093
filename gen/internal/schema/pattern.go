package schema

import (
	"regexp"
	"strings"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/source"
)

const maxPattern = 1000 // characters

// checkPattern refuses what is no regular expression of Go, and what Go and
// JavaScript, which JSON Schema refers to, read in different ways. Of the dot, which
// in Go matches all line breaks but one, the documentation speaks.
func (b *Builder) checkPattern(f *source.Field) {
	if f.Value.Kind != source.String {
		b.wrongKind(f, "a regular expression")
		return
	}
	text := f.Value.Text
	if len(text) > maxPattern {
		b.problems.Addf(diag.SchemaPattern, f.Value.Pos, "", "the pattern is longer than %d characters", maxPattern)
		return
	}
	if what, fix := alien(text); what != "" {
		b.problems.Addf(diag.SchemaPattern, f.Value.Pos, fix, "%s in a pattern is not the same in Go and in JavaScript", what)
		return
	}
	if _, err := regexp.Compile(text); err != nil {
		b.problems.Addf(diag.SchemaPattern, f.Value.Pos, "lookaround and backreferences are not supported", "the pattern is not a regular expression of Go: %s",
			strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
}

// alien finds the first part of a pattern that would be read differently, and
// what to write instead.
func alien(s string) (what, fix string) {
	class := -1 // where the characters of a class begin
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			n, fix := escape(s[i:])
			if fix != "" {
				return s[i:min(i+n, len(s))], fix
			}
			i += n - 1
		case class >= 0 && c == ']' && i == class:
			return s[i-1 : i+1], "write \\]"
		case class >= 0 && c == ']':
			class = -1
		case class >= 0 && c == '[' && i+1 < len(s) && s[i+1] == ':':
			return "[:", "write the characters, such as a-z"
		case class >= 0:
		case c == '[':
			if class = i + 1; class < len(s) && s[class] == '^' {
				class++
				i++
			}
		case strings.HasPrefix(s[i:], "(?") && !sameGroup(s[i:]):
			return s[i:min(i+3, len(s))], "write (?:…), or the pattern in another way"
		}
	}
	return "", ""
}

// sameGroup reports whether a group that begins with (? is one of both.
func sameGroup(s string) bool {
	return strings.HasPrefix(s, "(?:") || strings.HasPrefix(s, "(?<") && !strings.HasPrefix(s, "(?<=") && !strings.HasPrefix(s, "(?<!")
}

var category = regexp.MustCompile(`^\\[pP]\{(C[cfos]?|L[lmotu]?|M[cen]?|N[dlo]?|P[cdefios]?|S[ckmo]?|Z[lps]?)\}`)

// escape looks at what begins with a backslash: how long it is, and what to write
// instead if it is not the same in both.
func escape(s string) (n int, fix string) {
	if len(s) < 2 {
		return 1, "remove it"
	}
	switch c := s[1]; c {
	case 'd', 'D', 'w', 'W', 'b', 'B', 't', 'n', 'r', 'f', 'v':
		return 2, ""
	case 'x':
		if len(s) > 2 && s[2] == '{' {
			return 3, "write the character itself"
		}
		return 2, ""
	case 's', 'S':
		return 2, "write the characters, such as [ \\t\\r\\n]"
	case 'p', 'P':
		if m := category.FindString(s); m != "" {
			return len(m), ""
		}
		return 2, "write a general category, such as \\p{L}"
	default:
		if c < 0x80 && !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z') {
			return 2, ""
		}
		return 2, "write it in another way"
	}
}
