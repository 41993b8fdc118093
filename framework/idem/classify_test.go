package idem

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/idem-go/idem/framework/idem/testdata/sqlite"
)

type pgError struct{ code string }

func (e *pgError) Error() string    { return "pg " + e.code }
func (e *pgError) SQLState() string { return e.code }

type mysqlError struct {
	Number   uint16
	SQLState [5]byte
}

func (e *mysqlError) Error() string { return "mysql" }

type httpError struct {
	status int
	after  time.Duration
	cause  error
}

func (e *httpError) Error() string             { return fmt.Sprint("http ", e.status) }
func (e *httpError) StatusCode() int           { return e.status }
func (e *httpError) RetryAfter() time.Duration { return e.after }
func (e *httpError) Unwrap() error             { return e.cause }

type statusError int

func (e statusError) Error() string   { return "http" }
func (e statusError) HTTPStatus() int { return int(e) }

type smithyError int

func (e smithyError) Error() string       { return "http" }
func (e smithyError) HTTPStatusCode() int { return int(e) }

// grpcError has the shape of gRPC's: the code is a defined unsigned type, and
// the status a pointer whose method takes nil.
type (
	grpcError  uint32
	grpcStatus struct{ code grpcCodes }
	grpcCodes  uint32
)

func (e grpcError) Error() string           { return "grpc" }
func (e grpcError) GRPCStatus() *grpcStatus { return &grpcStatus{grpcCodes(e)} }
func (s *grpcStatus) Code() grpcCodes       { return s.code }

type timeout struct{ error }

func (timeout) Timeout() bool { return true }

type exitCode int // has the method of SQLite's errors, and nothing to do with them

func (e exitCode) Error() string { return "exit" }
func (e exitCode) Code() int     { return int(e) }

func jsonError(text string, into any) error { return json.Unmarshal([]byte(text), into) }

func runtimeError() (err error) {
	defer func() { err = recover().(error) }()
	var m map[string]int
	m["x"] = 1 //nolint:govet,staticcheck // the panic is the point
	return nil
}

func dial(cause error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: cause} }
func read(cause error) error { return &net.OpError{Op: "read", Net: "tcp", Err: cause} }

var knowledge = []struct {
	name string
	err  error
	want Class
}{
	{"our shutdown", ErrShuttingDown, ClassShutdown},
	{"lost lease", ErrLeaseLost, ClassShutdown},
	{"open breaker", ErrUnavailable, ClassUnavailable},
	{"store", ErrStore, ClassUnavailable},
	{"unknown commit", ErrUnknownCommit, ClassUnavailable},
	{"key in flight", ErrInFlight, ClassUnavailable},
	{"key reuse", ErrKeyReuse, ClassPermanent},
	{"missing key", ErrMissingKey, ClassInvalid},
	{"no handler", ErrNotImplemented, ClassBug},

	{"nothing known", errPlain, ClassTransient},
	{"deadline", context.DeadlineExceeded, ClassTransient},
	{"cancelled", context.Canceled, ClassTransient},
	{"no rows", sql.ErrNoRows, ClassTransient},
	{"broken connection", driver.ErrBadConn, ClassUnavailable},
	{"end of file", io.EOF, ClassTransient},
	{"truncated", io.ErrUnexpectedEOF, ClassTransient},
	{"JSON syntax", jsonError(`{`, new(any)), ClassInvalid},
	{"JSON type", jsonError(`"x"`, new(int)), ClassInvalid},
	{"nil map", runtimeError(), ClassBug},

	{"refused", dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), ClassUnavailable},
	{"dial timeout", dial(os.ErrDeadlineExceeded), ClassUnavailable},
	{"dial timeout of an HTTP client", &url.Error{Op: "Get", URL: "/", Err: dial(os.ErrDeadlineExceeded)}, ClassUnavailable},
	{"read timeout", read(os.ErrDeadlineExceeded), ClassTransient},
	{"HTTP client timeout", &url.Error{Op: "Get", URL: "/", Err: context.DeadlineExceeded}, ClassTransient},
	{"reset", read(os.NewSyscallError("read", syscall.ECONNRESET)), ClassUnavailable},
	{"broken pipe", syscall.EPIPE, ClassUnavailable},
	{"no such host", &net.DNSError{IsNotFound: true}, ClassUnavailable},
	{"any timeout", timeout{errPlain}, ClassTransient},

	{"serialization failure", &pgError{"40001"}, ClassUnavailable},
	{"deadlock", &pgError{"40P01"}, ClassUnavailable},
	{"lock not available", &pgError{"55P03"}, ClassUnavailable},
	{"admin shutdown", &pgError{"57P01"}, ClassUnavailable},
	{"crash shutdown", &pgError{"57P02"}, ClassUnavailable},
	{"starting up", &pgError{"57P03"}, ClassUnavailable},
	{"connection failure", &pgError{"08006"}, ClassUnavailable},
	{"too many connections", &pgError{"53300"}, ClassUnavailable},
	{"I/O error", &pgError{"58030"}, ClassUnavailable},
	{"wrong password", &pgError{"28P01"}, ClassUnavailable},
	{"read-only after failover", &pgError{"25006"}, ClassUnavailable},
	{"statement timeout", &pgError{"57014"}, ClassTransient},
	{"unique", &pgError{"23505"}, ClassPermanent},
	{"check", &pgError{"23514"}, ClassPermanent},
	{"too long", &pgError{"22001"}, ClassInvalid},
	{"syntax", &pgError{"42601"}, ClassBug},
	{"undefined table", &pgError{"42P01"}, ClassBug},
	{"after a failed statement", &pgError{"25P02"}, ClassBug},
	{"raised by a function", &pgError{"P0001"}, ClassTransient},
	{"empty state", &pgError{""}, ClassTransient},
	{"half a state", &pgError{"23"}, ClassTransient},
	{"MySQL deadlock", &mysqlError{1213, [5]byte([]byte("40001"))}, ClassUnavailable},
	{"MySQL duplicate", &mysqlError{1062, [5]byte([]byte("23000"))}, ClassPermanent},
	{"MySQL without state", &mysqlError{Number: 2013}, ClassTransient},
	{"SQLite busy", sqlite.Error(5), ClassUnavailable},
	{"SQLite busy snapshot", sqlite.Error(517), ClassUnavailable},
	{"SQLite locked", sqlite.Error(262), ClassUnavailable},
	{"SQLite full", sqlite.Error(13), ClassUnavailable},
	{"SQLite unique", sqlite.Error(2067), ClassPermanent},
	{"SQLite mismatch", sqlite.Error(20), ClassInvalid},
	{"SQLite no such table", sqlite.Error(1), ClassBug},
	{"SQLite interrupt", sqlite.Error(9), ClassTransient},
	{"somebody else's code 5", exitCode(5), ClassTransient},

	{"HTTP 200", &httpError{status: 200}, ClassTransient},
	{"HTTP 0", &httpError{}, ClassTransient},
	{"HTTP 600", &httpError{status: 600}, ClassTransient},
	{"HTTP 400", &httpError{status: 400}, ClassPermanent},
	{"HTTP 401", &httpError{status: 401}, ClassUnavailable},
	{"HTTP 403", &httpError{status: 403}, ClassTransient},
	{"HTTP 404", &httpError{status: 404}, ClassPermanent},
	{"HTTP 408", &httpError{status: 408}, ClassTransient},
	{"HTTP 409", &httpError{status: 409}, ClassTransient},
	{"HTTP 410", statusError(410), ClassPermanent},
	{"HTTP 422", smithyError(422), ClassPermanent},
	{"HTTP 425", &httpError{status: 425}, ClassTransient},
	{"HTTP 429", &httpError{status: 429}, ClassRateLimited},
	{"HTTP 500", &httpError{status: 500}, ClassTransient},
	{"HTTP 502", &httpError{status: 502}, ClassUnavailable},
	{"HTTP 503", statusError(503), ClassUnavailable},
	{"HTTP 504", smithyError(504), ClassUnavailable},

	{"gRPC OK", grpcError(0), ClassTransient},
	{"gRPC InvalidArgument", grpcError(3), ClassPermanent},
	{"gRPC DeadlineExceeded", grpcError(4), ClassTransient},
	{"gRPC NotFound", grpcError(5), ClassPermanent},
	{"gRPC PermissionDenied", grpcError(7), ClassTransient},
	{"gRPC ResourceExhausted", grpcError(8), ClassRateLimited},
	{"gRPC Aborted", grpcError(10), ClassTransient},
	{"gRPC Unimplemented", grpcError(12), ClassBug},
	{"gRPC Unavailable", grpcError(14), ClassUnavailable},
	{"gRPC Unauthenticated", grpcError(16), ClassUnavailable},
	{"gRPC of the future", grpcError(99), ClassTransient},
}

// What is known about an error is found through every kind of wrapping.
func TestClassifyByKnowledge(t *testing.T) {
	t.Parallel()
	for _, tt := range knowledge {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, err := range []error{
				tt.err,
				fmt.Errorf("wrapped: %w", fmt.Errorf("twice: %w", tt.err)),
				errors.Join(tt.err, errPlain),
				several{nil, several{fmt.Errorf("wrapped: %w", tt.err)}},
				NotApplied(tt.err),
			} {
				if got := (Classifier{}).Classify(err); got != tt.want {
					t.Errorf("%T %v: got %s, want %s", err, err, got, tt.want)
				}
			}
		})
	}
	if got := (Classifier{}).Classify(nil); got != ClassNone {
		t.Errorf("nil is %s", got)
	}
}

// A deadlock, a restart or a lock timeout is never the message's fault,
// whether it strikes the handler's statement, the claim or COMMIT; a violated
// constraint is, wherever it shows.
func TestClassifyDatabaseTrouble(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]Class{
		"40P01": ClassUnavailable, "40001": ClassUnavailable, "55P03": ClassUnavailable, "57P01": ClassUnavailable,
		"23514": ClassPermanent, "22P02": ClassInvalid,
	} {
		cause := &pgError{code}
		for where, err := range map[string]error{
			"handler":         fmt.Errorf("insert order: %w", cause),
			"claim":           fmt.Errorf("claim: %w: %w", ErrStore, cause),
			"commit":          fmt.Errorf("%w: commit: %w", ErrStore, cause),
			"unknown, commit": errors.Join(ErrStore, ErrUnknownCommit, cause),
		} {
			class := (Classifier{}).Classify(err)
			if class != want {
				t.Errorf("%s at %s: got %s, want %s", code, where, class, want)
			}
			dead := Decide(class, 1_000_000, Policy{}).Kind == Dead
			if dead == (want == ClassUnavailable) {
				t.Errorf("%s at %s: dead letter is %t", code, where, dead)
			}
		}
	}
	for _, cause := range []error{context.DeadlineExceeded, context.Canceled, &pgError{"57014"}, io.ErrUnexpectedEOF, errPlain} {
		if got := (Classifier{}).Classify(fmt.Errorf("%w: commit: %w", ErrStore, cause)); got != ClassUnavailable {
			t.Errorf("store failed by %v: got %s", cause, got)
		}
	}
}

// The outermost known error of a chain knows best: a 503 whose body is no JSON
// is a dependency that is down.
func TestClassifyOutermostKnowledge(t *testing.T) {
	t.Parallel()
	err := &httpError{status: 503, cause: jsonError(`<html>`, new(any))}
	if got := (Classifier{}).Classify(err); got != ClassUnavailable {
		t.Errorf("got %s", got)
	}
	err = &httpError{status: 503, cause: Permanent(errPlain)}
	if got := (Classifier{}).Classify(err); got != ClassPermanent {
		t.Errorf("a marker further in: got %s", got)
	}
	err = &httpError{status: 503, cause: Ignore(errPlain)}
	if got := (Classifier{}).Classify(err); got != ClassIgnorable {
		t.Errorf("a marker further in: got %s", got)
	}
}

func TestClassifyRules(t *testing.T) {
	t.Parallel()
	errGone := errors.New("gone")
	for _, tt := range []struct {
		name string
		rule Rule
		yes  []error
		no   []error
	}{
		{"error", Rule{Is: errGone}, []error{errGone, fmt.Errorf("x: %w", errGone), errors.Join(errPlain, errGone), sameAs{errGone}}, []error{errPlain, sameAs{errPlain}}},
		{"error that cannot be compared", Rule{Is: several{errGone}}, nil, []error{several{errGone}, errGone}},
		{"SQLSTATE", Rule{SQLState: "23505"}, []error{&pgError{"23505"}}, []error{&pgError{"23514"}, &pgError{""}, errPlain}},
		{"class of SQLSTATE", Rule{SQLState: "40"}, []error{&pgError{"40P01"}, &mysqlError{SQLState: [5]byte([]byte("40001"))}}, []error{&pgError{"42601"}}},
		{"HTTP status", Rule{HTTP: "404"}, []error{&httpError{status: 404}, statusError(404)}, []error{&httpError{status: 400}}},
		{"class of HTTP status", Rule{HTTP: "5xx"}, []error{&httpError{status: 500}, &httpError{status: 599}}, []error{&httpError{status: 404}, &httpError{}, &httpError{status: 5000}, errPlain}},
		{"gRPC", Rule{GRPC: "NOT_FOUND"}, []error{grpcError(5)}, []error{grpcError(4), errPlain}},
		{"gRPC, Go's name", Rule{GRPC: "NotFound"}, []error{grpcError(5)}, nil},
		{"gRPC name that does not exist", Rule{GRPC: "Nope"}, nil, []error{grpcError(5), errPlain}},
		{"type", Rule{Type: "idem.exitCode"}, []error{exitCode(1)}, []error{errPlain}},
		{"all conditions", Rule{Type: "httpError", HTTP: "4xx"}, []error{&httpError{status: 404}}, []error{&httpError{status: 500}, statusError(404)}},
		{"conditions of one and the same error", Rule{Is: errGone, HTTP: "404"}, nil, []error{&httpError{status: 404, cause: errGone}}},
		{"none", Rule{}, nil, []error{errPlain, errGone}},
	} {
		tt.rule.Class = ClassShutdown // no knowledge or marker below gives this
		c := Classifier{Rules: []Rule{tt.rule}}
		for _, err := range tt.yes {
			if got := c.Classify(err); got != ClassShutdown {
				t.Errorf("%s: %T %v does not match", tt.name, err, err)
			}
		}
		for _, err := range tt.no {
			if got := c.Classify(err); got == ClassShutdown {
				t.Errorf("%s: %T %v matches", tt.name, err, err)
			}
		}
	}
}

type sameAs struct{ target error }

func (s sameAs) Error() string        { return "same" }
func (s sameAs) Is(target error) bool { return target == s.target }

func TestClassifyRulesInOrder(t *testing.T) {
	t.Parallel()
	errDown := errors.New("provider down")
	c := Classifier{Rules: []Rule{
		{SQLState: "23505", Class: ClassIgnorable},
		{SQLState: "23", Class: ClassInvalid},
		{Is: errDown, Class: ClassUnavailable},
	}}
	for _, tt := range []struct {
		name string
		err  error
		want Class
	}{
		{"the first that matches", &pgError{"23505"}, ClassIgnorable},
		{"the second", &pgError{"23514"}, ClassInvalid},
		{"before what is known of another branch", fmt.Errorf("%w: %w", errDown, &httpError{status: 404}), ClassUnavailable},
		{"a marker outside", Transient(&pgError{"23514"}), ClassTransient},
		{"a marker inside", &httpError{status: 404, cause: Bug(errPlain)}, ClassBug},
		{"rules and markers of several branches", errors.Join(errDown, Permanent(errPlain)), ClassPermanent},
		{"an ignored branch hides nothing", errors.Join(&pgError{"23505"}, errPlain), ClassTransient},
		{"known, without a rule", &pgError{"42601"}, ClassBug},
	} {
		if got := c.Classify(tt.err); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestRuleValidate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rule Rule
		want []string
	}{
		{Rule{Is: errPlain, Class: ClassBug}, nil},
		{Rule{SQLState: "40P01", HTTP: "5xx", GRPC: "UNAVAILABLE", Type: "x", Class: ClassTransient}, nil},
		{Rule{HTTP: "404", GRPC: "cancelled", Class: ClassTransient}, nil},
		{Rule{}, []string{"rule", "class"}},
		{Rule{SQLState: "40p01", Class: ClassBug}, []string{"sqlState"}},
		{Rule{SQLState: "400011", Class: ClassBug}, []string{"sqlState"}},
		{Rule{HTTP: "4", Class: ClassBug}, []string{"http"}},
		{Rule{HTTP: "4x4", Class: ClassBug}, []string{"http"}},
		{Rule{HTTP: "xxx", Class: ClassBug}, []string{"http"}},
		{Rule{GRPC: "5", Class: ClassBug}, []string{"grpc"}},
		{Rule{Type: "x", Class: "TRANSIENT"}, []string{"class"}},
		{Rule{SQLState: "-", HTTP: "-", GRPC: "-", Class: "-"}, []string{"sqlState", "http", "grpc", "class"}},
	} {
		checkFields(t, fmt.Sprintf("%+v", tt.rule), tt.rule.Validate(), tt.want)
	}
	err := Classifier{Rules: []Rule{{Is: errPlain, Class: ClassBug}, {}}}.Validate()
	if err == nil || !strings.HasPrefix(err.Error(), "rules[1]: rule must have") {
		t.Errorf("got %v", err)
	}
}

func TestParseClass(t *testing.T) {
	t.Parallel()
	for _, class := range allClasses {
		got, err := ParseClass(string(class))
		if class == ClassNone {
			if err == nil {
				t.Error("no class is not a class to configure")
			}
			continue
		}
		if got != class || err != nil {
			t.Errorf("%q: got %q, %v", class, got, err)
		}
	}
	if _, err := ParseClass("purple"); err == nil || !strings.Contains(err.Error(), `"transient"`) || !strings.Contains(err.Error(), `"purple"`) {
		t.Errorf("the error names neither the input nor the choices: %v", err)
	}
}

// Errors that break every rule of errors.

type panicking struct{}

func (panicking) Error() string             { panic("Error") }
func (panicking) Is(error) bool             { panic("Is") }
func (panicking) Unwrap() error             { panic("Unwrap") }
func (panicking) SQLState() string          { panic("SQLState") }
func (panicking) StatusCode() int           { panic("StatusCode") }
func (panicking) RetryAfter() time.Duration { panic("RetryAfter") }
func (panicking) Timeout() bool             { panic("Timeout") }
func (panicking) GRPCStatus() *grpcStatus   { panic("GRPCStatus") }

type oddGRPC struct{ result any }

func (oddGRPC) Error() string     { return "odd" }
func (e oddGRPC) GRPCStatus() any { return e.result }

type cycle struct{ next error }

func (c *cycle) Error() string { return "cycle" }
func (c *cycle) Unwrap() error { return c.next }

type bush struct{ members []error }

func (b *bush) Error() string   { return "bush" }
func (b *bush) Unwrap() []error { return b.members }

func hostileErrors() map[string]error {
	ring := &cycle{}
	ring.next = fmt.Errorf("round: %w", ring)
	tangle := &bush{}
	tangle.members = []error{tangle, nil, ring, tangle}
	doubled := errors.Join(errPlain)
	for range 64 {
		doubled = errors.Join(doubled, doubled)
	}
	deep := errPlain
	for range 100_000 {
		deep = &cycle{deep}
	}
	return map[string]error{
		"typed nil, pointer":     (*pgError)(nil),
		"typed nil, net":         (*net.OpError)(nil),
		"typed nil, url":         (*url.Error)(nil),
		"typed nil, HTTP":        (*httpError)(nil),
		"typed nil, slice":       several(nil),
		"typed nil, wrapped":     fmt.Errorf("x: %w", error((*cycle)(nil))),
		"nil member of a struct": timeout{},
		"panics":                 panicking{},
		"wraps what panics":      errors.Join(panicking{}, &cycle{panicking{}}),
		"status is nil":          oddGRPC{},
		"status has no code":     oddGRPC{3},
		"status is a typed nil":  oddGRPC{(*grpcStatus)(nil)},
		"cannot be compared":     several{several{}},
		"cycle":                  ring,
		"tangle":                 tangle,
		"exponential":            doubled,
		"deep":                   deep,
		"empty join":             several{nil, nil},
	}
}

func TestClassifySurvivesHostileErrors(t *testing.T) {
	t.Parallel()
	c := Classifier{Rules: []Rule{
		{Is: several{}, Class: ClassBug}, {Is: io.EOF, Class: ClassBug}, {SQLState: "23505", Class: ClassBug},
		{HTTP: "404", Class: ClassBug}, {GRPC: "NotFound", Class: ClassBug}, {Type: "nowhere", Class: ClassBug},
	}}
	for name, err := range hostileErrors() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, c := range []Classifier{{}, c} {
				if got := c.Classify(err); got != ClassTransient {
					t.Errorf("got %s, want bounded retries", got)
				}
				if got := c.Classify(errors.Join(err, fmt.Errorf("x: %w", Permanent(errPlain)))); got != ClassPermanent {
					t.Errorf("joined with a permanent error: got %s", got)
				}
				if got := c.Classify(Permanent(err)); got != ClassPermanent {
					t.Errorf("marked permanent: got %s", got)
				}
			}
			if d, ok := RetryAfterOf(err); ok {
				t.Errorf("asks to wait %v", d)
			}
			if everyBranchRefuses(err, fullReach) {
				t.Error("counts as not applied")
			}
		})
	}
}

// FuzzClassify builds error trees out of bytes: each is an instruction to a
// stack of errors.
func FuzzClassify(f *testing.F) {
	f.Add([]byte{0, 1, 2, 200, 3, 201, 202})
	f.Add([]byte{40, 203, 80, 204, 120, 205, 200, 206})
	f.Add([]byte{255, 254, 253, 1, 201, 202, 203, 204, 205, 206, 207, 208, 209})
	hostile := hostileErrors()
	for _, slow := range []string{"deep", "exponential", "tangle"} {
		delete(hostile, slow)
	}
	names := sortedKeys(hostile)
	f.Fuzz(func(t *testing.T, program []byte) {
		stack := []error{errPlain}
		for _, op := range program[:min(len(program), 64)] {
			top := len(stack) - 1
			switch {
			case op < 200:
				stack = append(stack, knowledge[int(op)%len(knowledge)].err)
			case op == 200:
				stack = []error{errors.Join(stack...)}
			case op == 201:
				stack = []error{several(slices.Clone(stack))}
			case op == 202:
				stack[top] = &cycle{stack[top]}
			case op == 203:
				stack[top] = Permanent(stack[top])
			case op == 204:
				stack[top] = Ignore(stack[top])
			case op == 205:
				stack[top] = RetryAfter(stack[top], time.Duration(len(program)))
			case op == 206:
				stack[top] = &httpError{status: 400 + len(program), cause: stack[top]}
			case op == 207:
				stack[top] = NotApplied(stack[top])
			default:
				stack = append(stack, hostile[names[int(op)%len(names)]])
			}
		}
		err := several(stack)
		class := (Classifier{}).Classify(err)
		if _, parseErr := ParseClass(string(class)); parseErr != nil {
			t.Errorf("class %q", class)
		}
		slices.Reverse(stack)
		if again := (Classifier{}).Classify(err); again != class {
			t.Errorf("%s, and %s when the members are reversed", class, again)
		}
		if d, ok := RetryAfterOf(err); ok != (d > 0) || d > maxRetryAfter {
			t.Errorf("wait %v, %t", d, ok)
		}
		everyBranchRefuses(err, fullReach)
	})
}

func BenchmarkClassify(b *testing.B) {
	err := fmt.Errorf("handle: %w", fmt.Errorf("%w: insert: %w", ErrStore, &pgError{"40001"}))
	b.ReportAllocs()
	for b.Loop() {
		(Classifier{}).Classify(err)
	}
}
