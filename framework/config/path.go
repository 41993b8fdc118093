package config

import (
	"fmt"
	"iter"
	"reflect"
	"strings"
	"unicode"

	"github.com/idem-go/idem/framework/idem"
)

// key is the name of a struct's field in a path.
func key(f reflect.StructField) string { return f.Tag.Get("yaml") }

// keys returns the keys of a section.
func keys(t reflect.Type) []string {
	names := make([]string, t.NumField())
	for i := range names {
		names[i] = key(t.Field(i))
	}
	return names
}

// fieldOf returns the setting or section of a section, or what is wrong.
func fieldOf(section reflect.Value, name string) (field reflect.Value, problem string) {
	known := keys(section.Type())
	for i, k := range known {
		if k == name {
			return section.Field(i), ""
		}
	}
	if near := idem.Closest(name, known); near != "" {
		return field, fmt.Sprintf("unknown key (did you mean %s?)", near)
	}
	return field, fmt.Sprintf("unknown key (known here: %s)", strings.Join(known, ", "))
}

// locate calls set with the setting that path names below v, and returns what
// is wrong with the path. Names of consumers may contain dots.
func locate(v reflect.Value, path string, set func(reflect.Value)) (problem string) {
	switch {
	case isLeaf(v.Type()):
		if path != "" {
			return "unknown key (the key before it is a single value)"
		}
		set(v)
		return ""
	case v.Kind() == reflect.Slice:
		return "can be set in the file only"
	case path == "":
		return "is a section (name one of its keys)"
	case v.Kind() == reflect.Map:
		return locateEntry(v, path, set)
	}
	name, rest, _ := strings.Cut(path, ".")
	field, problem := fieldOf(v, name)
	if problem != "" {
		return problem
	}
	return locate(field, rest, set)
}

func locateEntry(table reflect.Value, path string, set func(reflect.Value)) (problem string) {
	entry := reflect.New(table.Type().Elem()).Elem()
	for end := len(path); end > 0; end = strings.LastIndexByte(path[:end], '.') {
		name, rest := path[:end], strings.TrimPrefix(path[end:], ".")
		if problem = locate(entry, rest, func(reflect.Value) {}); problem != "" {
			continue
		}
		if old := table.MapIndex(reflect.ValueOf(name)); old.IsValid() {
			entry.Set(old)
		}
		locate(entry, rest, set)
		if table.IsNil() {
			table.Set(reflect.MakeMap(table.Type()))
		}
		table.SetMapIndex(reflect.ValueOf(name), entry)
		return ""
	}
	return problem
}

// variables yields the name of the variable and the path of every setting
// that has one.
func variables() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) { eachLeaf(reflect.TypeFor[idem.Config](), "", yield) }
}

func eachLeaf(t reflect.Type, path string, yield func(name, path string) bool) bool {
	switch {
	case isLeaf(t):
		return yield(variable(path), path)
	case t.Kind() != reflect.Struct:
		return true
	}
	for i := range t.NumField() {
		if !eachLeaf(t.Field(i).Type, join(path, key(t.Field(i))), yield) {
			return false
		}
	}
	return true
}

// variable is the name of a path's variable: IDEM_KAFKA_CREATE_TOPICS.
func variable(path string) string {
	var name strings.Builder
	name.WriteString(prefix)
	for _, r := range path {
		switch {
		case r == '.':
			r = '_'
		case unicode.IsUpper(r):
			name.WriteByte('_')
		}
		name.WriteRune(unicode.ToUpper(r))
	}
	return name.String()
}

func join(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }
