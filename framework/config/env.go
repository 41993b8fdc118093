package config

import (
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/idem-go/idem/framework/idem"
)

const (
	prefix = "IDEM_"
	setAny = prefix + "SET"
)

// environment applies the variables.
func (l *loader) environment() {
	known := maps.Collect(variables())
	var short []string
	for name := range known {
		short = append(short, strings.TrimPrefix(name, prefix))
	}
	slices.Sort(short)
	for _, name := range slices.Sorted(maps.Keys(l.env)) {
		rest, ours := strings.CutPrefix(name, prefix)
		at := Place{rank: fromEnv, Source: name}
		path, ok := known[name]
		switch {
		case !ours || l.env[name] == "" || name == setAny:
		case ok:
			l.set(at, path, l.env[name])
		case strings.Contains(rest, "SERVICE_") || strings.Contains(rest, "PORT"): // Kubernetes tells of a service called idem
		default:
			if near := idem.Closest(rest, short); near != "" {
				l.report(at, "", "unknown variable (did you mean %s%s?)", prefix, near)
			}
		}
	}
	for _, text := range strings.FieldsFunc(l.env[setAny], func(r rune) bool { return r == ';' || r == '\n' }) {
		if strings.TrimSpace(text) != "" {
			l.override(Place{rank: fromEnv, Source: setAny}, text)
		}
	}
}

// override applies "path=value".
func (l *loader) override(at Place, text string) {
	path, value, ok := strings.Cut(text, "=")
	if path = strings.TrimSpace(path); !ok || path == "" {
		l.report(at, "", "must be path=value (such as log.level=debug)")
		return
	}
	l.set(at, path, value)
}

// set gives the setting at path the value that text means.
func (l *loader) set(at Place, path, text string) {
	problem := locate(reflect.ValueOf(&l.cfg).Elem(), path, func(v reflect.Value) {
		l.origins[path] = at
		delete(l.unknown, path)
		if wrong := assign(v, text); wrong != "" {
			l.fail(at, path, "%s", wrong)
		}
	})
	if problem != "" {
		l.report(at, path, "%s", problem)
	}
}

// pairs yields names and values of a list like that of os.Environ.
func pairs(env []string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, entry := range env {
			if name, value, ok := strings.Cut(entry, "="); ok && !yield(name, value) {
				return
			}
		}
	}
}
