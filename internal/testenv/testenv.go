// Package testenv gives tests the servers they run against: the real ones that scripts/brokers.sh
// starts, each test with a database or topic of its own, so that tests may run in parallel.
//
// The environment says what is there:
//
//	IDEM_TEST_POSTGRES  URL of a PostgreSQL server, with a role that may create databases
//	IDEM_TEST_KAFKA     host:port of a Kafka broker; more than one with commas between
//	IDEM_TEST_CHROMIUM  path of a Chromium or Chrome; else one on the PATH is used
//	IDEM_REQUIRE        comma list of "postgres", "kafka" and "chromium": a test that needs one of
//	                    these fails when it is missing, where it would skip or use a stand-in otherwise
//
// Only tests may import this package.
package testenv

import (
	"crypto/rand"
	"os"
	"slices"
	"strings"
	"testing"
)

const (
	envPostgres = "IDEM_TEST_POSTGRES"
	envKafka    = "IDEM_TEST_KAFKA"
	envChromium = "IDEM_TEST_CHROMIUM"
	envRequire  = "IDEM_REQUIRE"
)

// required tells whether the caller of the tests insists on the real server called name.
func required(name string) bool {
	return slices.ContainsFunc(strings.Split(os.Getenv(envRequire), ","), func(s string) bool {
		return strings.TrimSpace(s) == name
	})
}

// Topic returns a topic name that no other test or run has, made of the test's name and a random
// part. It has only lower-case ASCII letters, digits and underscores, starts with a letter and is
// at most 40 bytes long, which makes it a valid name for every transport.
func Topic(t testing.TB) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '_'
	}, t.Name())
	return "t_" + name[:min(len(name), 27)] + "_" + unique()
}

// unique returns ten random lower-case letters and digits.
func unique() string { return strings.ToLower(rand.Text()[:10]) }
