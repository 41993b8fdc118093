//go:build race

package render_test

func init() { underRace = true } //nolint:gochecknoinits // a build tag can speak in no other way
