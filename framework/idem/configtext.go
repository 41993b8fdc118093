package idem

import (
	"cmp"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
)

// String lists what is set, "path=value path=value …", passwords blotted out.
func (c Config) String() string {
	var settings []string
	c.each(func(path string, value any) { settings = append(settings, fmt.Sprintf("%s=%v", path, value)) })
	return strings.Join(settings, " ")
}

// GoString is String: the syntax of Go would show passwords.
func (c Config) GoString() string { return c.String() }

// LogValue is a group of what is set, by path, passwords blotted out.
func (c Config) LogValue() slog.Value {
	var attrs []slog.Attr
	c.each(func(path string, value any) { attrs = append(attrs, slog.Any(path, value)) })
	return slog.GroupValue(attrs...)
}

// each calls f for every value that is set, in the order of the fields.
func (c Config) each(f func(path string, value any)) { eachSetting("", reflect.ValueOf(c), f) }

func eachSetting(path string, v reflect.Value, f func(string, any)) {
	if v.IsZero() {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		f(path, v.Elem().Interface())
	case reflect.Struct:
		for i := range v.NumField() {
			at := strings.TrimPrefix(path+"."+v.Type().Field(i).Tag.Get("yaml"), ".")
			eachSetting(at, v.Field(i), f)
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
		for _, k := range keys {
			eachSetting(path+"."+k.String(), v.MapIndex(k), f)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Struct {
			f(path, v.Interface())
			return
		}
		for i := range v.Len() {
			eachSetting(fmt.Sprintf("%s[%d]", path, i), v.Index(i), f)
		}
	default:
		f(path, v.Interface())
	}
}
