// Package sqlite has an error that looks like the one of a SQLite driver, which
// is recognised by its package's path.
package sqlite

// Error has an extended result code.
type Error int

func (e Error) Error() string { return "sqlite error" }

// Code is the extended result code.
func (e Error) Code() int { return int(e) }
