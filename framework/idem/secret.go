package idem

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Secret is a password. Printed, logged or marshalled it is "xxxxx"; convert
// it to a string to use it. The empty Secret prints as nothing.
type Secret string

const blot = "xxxxx"

// String returns "xxxxx", or "" when it is empty.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return blot
}

// Format prints String for every verb.
func (s Secret) Format(f fmt.State, verb rune) { fmt.Fprintf(f, fmt.FormatString(f, verb), s.String()) }

// MarshalText returns String.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// DSN is a connection string of PostgreSQL. Printed, logged or marshalled its
// password is "xxxxx", and so is all of it when it cannot be read for certain;
// convert it to a string to use it.
type DSN string

// String returns the connection string without what may be secret.
func (d DSN) String() string {
	s := string(d)
	switch {
	case s == "":
		return ""
	case strings.Contains(s, "://"):
		return shownURL(s)
	default:
		return shownPairs(s)
	}
}

// Format prints String for every verb.
func (d DSN) Format(f fmt.State, verb rune) { fmt.Fprintf(f, fmt.FormatString(f, verb), d.String()) }

// MarshalText returns String.
func (d DSN) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// harmless are the parameters whose values may be shown.
var harmless = []string{"host", "hostaddr", "port", "user", "dbname", "database", "sslmode"}

func shownURL(s string) string {
	u, err := url.Parse(s)
	// An '@' elsewhere than after the user may be in a password with
	// characters that ought to be escaped, and then the parts are not what
	// they seem to be.
	if err != nil || u.Host == "" || u.Fragment != "" || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return blot
	}
	if at := strings.Count(s, "@"); at > 1 || at == 1 && u.User == nil {
		return blot
	}
	if _, secret := u.User.Password(); secret {
		u.User = url.UserPassword(u.User.Username(), blot)
	}
	if u.RawQuery != "" {
		u.RawQuery = blot
	}
	return u.String()
}

// shownPairs shows "key=value key='a value'". What is quoted or escaped is
// never shown.
func shownPairs(s string) string {
	if strings.ContainsAny(s, `'\`) {
		return blot
	}
	fields := strings.Fields(s)
	for i, field := range fields {
		name, value, _ := strings.Cut(field, "=")
		switch {
		case name == "" || value == "":
			return blot // "name = value", or no connection string at all
		case name == "password":
			fields[i] = name + "=" + blot
		case !slices.Contains(harmless, name):
			fields[i] = blot
		}
	}
	return strings.Join(fields, " ")
}
