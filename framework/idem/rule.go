package idem

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Rule gives a class to errors. An error matches when it meets every condition
// that is set; at least one must be. All but Is can be written in a
// configuration file.
type Rule struct {
	// Is matches as errors.Is does.
	Is error
	// SQLState is a code such as "23505", or the beginning of one: "23".
	SQLState string
	// HTTP is a status such as "409", or a class of them: "5xx".
	HTTP string
	// GRPC is the name of a status code: "NotFound" or "NOT_FOUND".
	GRPC string
	// Type is a part of the error's Go type as %T prints it, such as
	// "stripe.Error".
	Type string
	// Class is the result.
	Class Class
}

// Validate returns everything that is wrong with the rule, joined.
func (r Rule) Validate() error {
	var e fieldErrors
	e.check(r.Is != nil || r.SQLState+r.HTTP+r.GRPC+r.Type != "", "rule", "must have a condition: is, sqlState, http, grpc or type")
	e.check(len(r.SQLState) <= 5 && strings.Trim(r.SQLState, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "",
		"sqlState", "must be up to 5 digits and capitals, is %q", r.SQLState)
	e.check(r.HTTP == "" || validHTTPPattern(r.HTTP), "http", "must be a status such as \"404\" or \"5xx\", is %q", r.HTTP)
	e.check(r.GRPC == "" || grpcNumber(r.GRPC) >= 0, "grpc", "must be the name of a gRPC status code such as \"NotFound\", is %q", r.GRPC)
	if _, err := ParseClass(string(r.Class)); err != nil {
		e = append(e, fmt.Errorf("class: %w", err))
	}
	return e.join()
}

// ParseClass reads a class from a configuration, written as the constants are.
func ParseClass(s string) (Class, error) {
	classes := []Class{ClassTransient, ClassRateLimited, ClassInvalid, ClassPermanent, ClassIgnorable, ClassBug, ClassUnavailable, ClassShutdown}
	for _, c := range classes {
		if string(c) == s {
			return c, nil
		}
	}
	return ClassNone, fmt.Errorf("idem: error class must be one of %q, is %q", classes, s)
}

// matches looks at err alone, not at what it wraps.
func (r Rule) matches(err error) bool {
	if r.Is == nil && r.SQLState+r.HTTP+r.GRPC+r.Type == "" {
		return false
	}
	return (r.Is == nil || isTarget(err, r.Is)) &&
		(r.SQLState == "" || strings.HasPrefix(sqlState(err), r.SQLState)) &&
		(r.HTTP == "" || matchesHTTP(r.HTTP, httpStatus(err))) &&
		(r.GRPC == "" || grpcCode(err) >= 0 && grpcCode(err) == grpcNumber(r.GRPC)) &&
		(r.Type == "" || strings.Contains(reflect.TypeOf(err).String(), r.Type))
}

// isTarget is the step that errors.Is takes at each error of a chain.
func isTarget(err, target error) bool {
	if reflect.TypeOf(target).Comparable() && err == target { //nolint:errorlint // one step of errors.Is
		return true
	}
	e, ok := err.(interface{ Is(error) bool })
	return ok && e.Is(target)
}

func validHTTPPattern(s string) bool {
	if len(s) != 3 || s[0] < '1' || s[0] > '5' {
		return false
	}
	return s[1:] == "xx" || strings.Trim(s[1:], "0123456789") == ""
}

func matchesHTTP(pattern string, status int) bool {
	s := fmt.Sprint(status)
	return s == pattern || len(s) == 3 && pattern == s[:1]+"xx"
}

// grpcNumber returns the number of a status code's name, -1 if there is none.
func grpcNumber(name string) int {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "")
	for i, n := range strings.Fields("ok canceled unknown invalidargument deadlineexceeded notfound alreadyexists permissiondenied " +
		"resourceexhausted failedprecondition aborted outofrange unimplemented internal unavailable dataloss unauthenticated") {
		if n == name {
			return i
		}
	}
	if name == "cancelled" {
		return 1
	}
	return -1
}

// validateRules joins what is wrong with a list of rules, each with its index.
func validateRules(rules []Rule) error {
	var e []error
	for i, r := range rules {
		if err := r.Validate(); err != nil {
			e = append(e, fmt.Errorf("rules[%d]: %w", i, err))
		}
	}
	return errors.Join(e...)
}
