package config

import (
	"regexp"
	"strings"
)

var (
	reference      = regexp.MustCompile(`\$?\$\{[^}]*\}?`)
	validReference = regexp.MustCompile(`^\$\{([A-Za-z_][A-Za-z0-9_]*)(?:(:-)([^}]*))?\}$`)
)

// expand replaces ${NAME} and ${NAME:-text}. What is wrong names the variable,
// never a value.
func (l *loader) expand(text string) (expanded, problem string) {
	expanded = reference.ReplaceAllStringFunc(text, func(ref string) string {
		if plain, ok := strings.CutPrefix(ref, "$$"); ok {
			return "$" + plain
		}
		m := validReference.FindStringSubmatch(ref)
		if m == nil {
			problem = "has a ${ that is no variable (write ${NAME} or ${NAME:-default}, and $${ for a plain ${)"
			return ""
		}
		value, ok := l.env[m[1]]
		switch {
		case value == "" && m[2] != "":
			return m[3]
		case !ok:
			problem = "environment variable " + m[1] + " is not set (set it, or write ${" + m[1] + ":-default})"
		}
		return value
	})
	return expanded, problem
}
