// Package config reads an [idem.Config] from a YAML file, the environment and
// flags. Each overrides the one before it:
//
//	idem.yaml                          kafka: {brokers: "a:9092,b:9092"}
//	environment, one variable a key    IDEM_KAFKA_BROKERS=a:9092,b:9092
//	environment, any keys              IDEM_SET=consumers.charge.concurrency=4;log.level=debug
//	flags                              -set kafka.brokers=a:9092,b:9092
//
// A variable is named after the path of its key: kafka.createTopics is
// IDEM_KAFKA_CREATE_TOPICS. Keys below a name that somebody chose (breakers,
// consumers) have no variable of their own: IDEM_SET takes them, "path=value"
// separated by semicolons or new lines. An empty variable counts as unset.
// Other variables that begin with IDEM_ are left alone, except that a probable
// misspelling is an error. classify can be set in the file only.
//
// Values are written the same way everywhere. Durations are Go's, such as
// 250ms or 1h30m, with d for 24 hours in front: 7d, 1d12h. In a list without
// brackets commas separate.
//
// In values of the file ${NAME} stands for a variable of the environment and
// ${NAME:-text} for text if that is unset or empty; $${ is a plain ${. So
// passwords stay out of the file.
//
// The file is YAML without anchors, aliases, tags and several documents, at
// most 128 KiB. Everything that is wrong is reported at once, each problem at
// its place, and no message contains a value that may be secret.
package config

import (
	_ "embed"
	"maps"
	"slices"

	"github.com/idem-go/idem/framework/idem"
)

// DefaultPath is the file that is read when there is one and no other is named.
const DefaultPath = "idem.yaml"

// Source says where the configuration comes from. The zero value is
// [DefaultPath] alone, which need not exist.
type Source struct {
	// Path of the file, which must exist. "" means [DefaultPath] if it exists.
	Path string
	// Env is the environment as os.Environ returns it. Nil is an empty one.
	Env []string
	// Overrides are "path=value"; a later one wins.
	Overrides []string

	flags []string // names of the flags that gave the overrides, as far as known
}

// Load reads and checks the configuration. Its zero fields are filled in. The
// error is a [Problems].
func Load(src Source) (idem.Config, error) {
	l := &loader{env: environ(src.Env), origins: map[string]Place{}, unknown: map[string]bool{}}
	readable := l.file(src.Path)
	l.environment()
	l.overrides(src)
	cfg := l.cfg.WithDefaults()
	if readable {
		l.check(cfg)
	}
	if len(l.problems) > 0 {
		slices.SortStableFunc(l.problems, byPlace)
		return idem.Config{}, l.problems
	}
	return cfg, nil
}

//go:embed sample.yaml
var sample string

// Sample returns a file with every key, its meaning and its default. The keys
// are commented out, so that it changes nothing as it is.
func Sample() string { return sample }

// loader collects the configuration, where each value came from, and what is
// wrong.
type loader struct {
	cfg      idem.Config
	env      map[string]string
	origins  map[string]Place
	unknown  map[string]bool // what was given but could not be read
	problems Problems
}

func (l *loader) overrides(src Source) {
	for i, text := range src.Overrides {
		name := "-set"
		if i < len(src.flags) {
			name = src.flags[i]
		}
		l.override(Place{rank: fromFlags, Source: name}, text)
	}
}

// check adds what [idem.Config.Validate] finds, unless it follows from a value
// that is not known.
func (l *loader) check(cfg idem.Config) {
	for _, err := range parts(cfg.Validate()) {
		if e, ok := err.(*idem.ConfigError); ok && !l.isUnknown(e.Path) {
			l.report(l.origin(e.Path), e.Path, "%s", e.Problem)
		}
	}
}

func (l *loader) isUnknown(path string) bool {
	for ; path != ""; path = parent(path) {
		if l.unknown[path] {
			return true
		}
	}
	return false
}

func parts(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return nil
}

// origin is the place of the setting or else of the smallest section around it.
func (l *loader) origin(path string) Place {
	for ; path != ""; path = parent(path) {
		if at, ok := l.origins[path]; ok {
			return at
		}
	}
	return l.origins[""]
}

func environ(list []string) map[string]string {
	env := make(map[string]string, len(list))
	maps.Insert(env, pairs(list))
	return env
}
