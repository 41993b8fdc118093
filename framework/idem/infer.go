package idem

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"io"
	"net"
	"reflect"
	"runtime"
	"strings"
	"syscall"
)

// infer is what we know about err itself, without what it wraps; ClassNone if
// nothing. It may panic, as the methods of err may.
func infer(err error) Class {
	for _, inferrer := range []func(error) Class{bySentinel, byType, bySQL, byHTTP, byGRPC} {
		if class := inferrer(err); class != ClassNone {
			return class
		}
	}
	return ClassNone
}

// inferWeakly is what err says about itself in so general a way that anything known
// about the errors it wraps is better.
func inferWeakly(err error) Class {
	if ownRetryAfter(err) > 0 {
		return ClassRateLimited
	}
	if e, ok := err.(interface{ Timeout() bool }); ok && e.Timeout() {
		return ClassTransient
	}
	return ClassNone
}

func bySentinel(err error) Class {
	for _, s := range []struct {
		target error
		class  Class
	}{
		{ErrShuttingDown, ClassShutdown},
		{ErrLeaseLost, ClassShutdown},
		{ErrUnavailable, ClassUnavailable},
		{ErrStore, ClassUnavailable},
		{ErrUnknownCommit, ClassUnavailable},
		{ErrInFlight, ClassUnavailable},
		{ErrKeyReuse, ClassPermanent},
		{ErrMissingKey, ClassInvalid},
		{errNotJSON, ClassInvalid},
		{ErrNotImplemented, ClassBug},

		{context.DeadlineExceeded, ClassTransient},
		{context.Canceled, ClassTransient},
		{driver.ErrBadConn, ClassUnavailable},
		// A truncated payload read with a json.Decoder ends like this, too: it
		// must not be retried without counting.
		{io.EOF, ClassTransient},
		{io.ErrUnexpectedEOF, ClassTransient},

		{syscall.ECONNREFUSED, ClassUnavailable},
		{syscall.ECONNRESET, ClassUnavailable},
		{syscall.ECONNABORTED, ClassUnavailable},
		{syscall.EPIPE, ClassUnavailable},
		{syscall.EHOSTUNREACH, ClassUnavailable},
		{syscall.ENETUNREACH, ClassUnavailable},
	} {
		if isTarget(err, s.target) {
			return s.class
		}
	}
	return ClassNone
}

func byType(err error) Class {
	switch e := err.(type) {
	case *json.SyntaxError, *json.UnmarshalTypeError:
		return ClassInvalid
	case *net.DNSError:
		return ClassUnavailable
	case *net.OpError:
		if e.Op == "dial" {
			return ClassUnavailable
		}
	case runtime.Error:
		return ClassBug
	}
	return ClassNone
}

func bySQL(err error) Class {
	state := sqlState(err)
	for _, s := range []struct {
		prefix string
		class  Class
	}{
		{"40001", ClassUnavailable}, // serialization failure
		{"40P01", ClassUnavailable}, // deadlock
		{"55P03", ClassUnavailable}, // lock not available
		{"57P", ClassUnavailable},   // server is stopping or starting
		{"25006", ClassUnavailable}, // read-only: a failover has left us with the replica
		{"08", ClassUnavailable},    // connection
		{"28", ClassUnavailable},    // our credentials
		{"53", ClassUnavailable},    // out of resources
		{"58", ClassUnavailable},    // system error
		{"57014", ClassTransient},   // cancelled or statement timeout
		{"22", ClassInvalid},        // data that does not fit
		{"23", ClassPermanent},      // constraint
		{"42", ClassBug},            // syntax, undefined or forbidden object
		{"25P02", ClassBug},         // went on after a failed statement
	} {
		if len(state) == 5 && strings.HasPrefix(state, s.prefix) {
			return s.class
		}
	}
	switch sqliteCode(err) {
	case 5, 6, 8, 10, 13, 14: // busy, locked, read-only, I/O, full, cannot open
		return ClassUnavailable
	case 18, 20: // too big, type mismatch
		return ClassInvalid
	case 19: // constraint
		return ClassPermanent
	case 1, 21: // SQL error, misuse
		return ClassBug
	}
	return ClassNone
}

// sqlState returns the SQLSTATE of err: of a method, as Postgres drivers have
// it, or of the field of MySQL's driver.
func sqlState(err error) string {
	if e, ok := err.(interface{ SQLState() string }); ok {
		return e.SQLState()
	}
	v := reflect.Indirect(reflect.ValueOf(err))
	if v.Kind() != reflect.Struct {
		return ""
	}
	if field := v.FieldByName("SQLState"); field.IsValid() && field.CanInterface() {
		if code, ok := field.Interface().([5]byte); ok {
			return string(code[:])
		}
	}
	return ""
}

// sqliteCode returns the primary result code of an error of a SQLite driver,
// 0 for any other: Code() int alone is too common a method.
func sqliteCode(err error) int {
	e, ok := err.(interface{ Code() int })
	if !ok || !strings.Contains(reflect.Indirect(reflect.ValueOf(err)).Type().PkgPath(), "sqlite") {
		return 0
	}
	return e.Code() & 0xff
}

func byHTTP(err error) Class {
	switch status := httpStatus(err); {
	case status == 429:
		return ClassRateLimited
	case status == 502, status == 503, status == 504:
		return ClassUnavailable
	case status == 401, status == 407: // our credentials: waiting loses nothing, dead letters would
		return ClassUnavailable
	case status == 403, status == 408, status == 409, status == 423, status == 425:
		return ClassTransient // may pass, or not: 403 can be about us or about this message
	case status >= 400 && status < 500:
		return ClassPermanent
	case status >= 500 && status < 600:
		return ClassTransient
	}
	return ClassNone
}

func httpStatus(err error) int {
	switch e := err.(type) {
	case interface{ StatusCode() int }:
		return e.StatusCode()
	case interface{ HTTPStatus() int }:
		return e.HTTPStatus()
	case interface{ HTTPStatusCode() int }:
		return e.HTTPStatusCode()
	}
	return 0
}

func byGRPC(err error) Class {
	switch grpcCode(err) {
	case 8: // ResourceExhausted
		return ClassRateLimited
	case 14, 16: // Unavailable, Unauthenticated
		return ClassUnavailable
	case 1, 2, 4, 7, 10, 13, 15: // Canceled, Unknown, DeadlineExceeded, PermissionDenied, Aborted, Internal, DataLoss
		return ClassTransient
	case 3, 5, 6, 9, 11: // InvalidArgument, NotFound, AlreadyExists, FailedPrecondition, OutOfRange
		return ClassPermanent
	case 12: // Unimplemented: we call what is not there
		return ClassBug
	}
	return ClassNone
}

// grpcCode returns the code of a gRPC status error, -1 for any other. Its
// method returns a type of gRPC, which no interface of ours can name without
// linking gRPC into every application; hence reflection, on this cold path.
func grpcCode(err error) int {
	method := reflect.ValueOf(err).MethodByName("GRPCStatus")
	if !method.IsValid() || method.Type().NumIn() != 0 || method.Type().NumOut() != 1 {
		return -1
	}
	code := method.Call(nil)[0].MethodByName("Code")
	if !code.IsValid() || code.Type().NumIn() != 0 || code.Type().NumOut() != 1 {
		return -1
	}
	if n := code.Call(nil)[0]; n.CanUint() {
		return int(n.Uint())
	}
	return -1
}
