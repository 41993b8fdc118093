package config

import (
	"errors"
	"log/slog"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

var (
	typeDuration = reflect.TypeFor[time.Duration]()
	typeLevel    = reflect.TypeFor[slog.Level]()
)

// isLeaf reports whether values of type t are written as one text.
func isLeaf(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer:
		return isLeaf(t.Elem())
	case reflect.Slice:
		return isLeaf(t.Elem())
	case reflect.Struct, reflect.Map:
		return false
	}
	return true
}

// assign sets v to what text means. It returns what is wrong, without the
// text: that may be a secret in the wrong place.
func assign(v reflect.Value, text string) (problem string) {
	switch v.Kind() {
	case reflect.Pointer:
		value := reflect.New(v.Type().Elem())
		if problem := assign(value.Elem(), text); problem != "" {
			return problem
		}
		v.Set(value)
		return ""
	case reflect.Slice:
		return assignList(v, split(text))
	case reflect.String:
		if strings.ContainsRune(text, 0) {
			return "must not contain a zero byte"
		}
		v.SetString(text)
		return ""
	}
	text = strings.TrimSpace(text)
	switch {
	case v.Type() == typeDuration:
		return assignDuration(v, text)
	case v.Type() == typeLevel:
		var level slog.Level
		if level.UnmarshalText([]byte(text)) != nil {
			return "must be debug, info, warn or error"
		}
		v.SetInt(int64(level))
		return ""
	case v.Kind() == reflect.Bool:
		if text != "true" && text != "false" {
			return "must be true or false"
		}
		v.SetBool(text == "true")
		return ""
	case v.Kind() == reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return "must be a number"
		}
		v.SetFloat(f)
		return ""
	default:
		n, err := strconv.ParseInt(text, 10, v.Type().Bits())
		if errors.Is(err, strconv.ErrRange) {
			return "is too large"
		} else if err != nil {
			return "must be a whole number"
		}
		v.SetInt(n)
		return ""
	}
}

func assignList(v reflect.Value, texts []string) (problem string) {
	list := reflect.MakeSlice(v.Type(), len(texts), len(texts))
	for i, text := range texts {
		if problem := assign(list.Index(i), text); problem != "" {
			return problem
		}
	}
	v.Set(list)
	return ""
}

// split returns the items of a list that is written with commas.
func split(text string) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	items := strings.Split(text, ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return items
}

func assignDuration(v reflect.Value, text string) (problem string) {
	d, ok := parseDuration(text)
	if !ok {
		if _, err := strconv.ParseFloat(text, 64); err == nil {
			return "needs a unit (such as 30s, 250ms or 7d)"
		}
		return "must be a duration (such as 30s, 250ms, 1h30m or 7d)"
	}
	v.SetInt(int64(d))
	return ""
}

// parseDuration reads Go's durations with whole days in front: "7d", "1d12h".
func parseDuration(text string) (time.Duration, bool) {
	days, rest, ok := strings.Cut(text, "d")
	if !ok {
		d, err := time.ParseDuration(text)
		return d, err == nil
	}
	n, err := strconv.ParseUint(days, 10, 16)
	if err != nil {
		return 0, false
	}
	d := time.Duration(n) * 24 * time.Hour
	if rest == "" {
		return d, true
	}
	more, err := time.ParseDuration(rest)
	return d + more, err == nil && rest[0] >= '0' && rest[0] <= '9' && d+more >= d
}
