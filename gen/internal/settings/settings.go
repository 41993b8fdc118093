// Package settings reads idemgen.yaml: where the contract is, where generated
// code goes and for which transports.
package settings

import (
	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/source"
)

// FileName is what the file is called unless the user says otherwise.
const FileName = "idemgen.yaml"

// Transports are the transports that there are, in the order in which they are
// generated.
var transports = []string{"sqlite", "postgres", "kafka", "kafkasqlite", "memory"}

// Transports returns the names of the transports that there are.
func Transports() []string { return append([]string(nil), transports...) }

// Settings are the contents of idemgen.yaml. Files and folders are relative to
// the project's root, the folder of idemgen.yaml, with slashes and inside it;
// "." is the root itself.
type Settings struct {
	// File is idemgen.yaml itself.
	File string
	// Contract is the AsyncAPI file, Go the folder of the Go package that is
	// the contract; exactly one is set.
	Contract, Go string
	// Messages, Handlers, Wiring and Main are folders of Go packages, each
	// another one. Wiring has a folder below it for each transport.
	Messages, Handlers, Wiring, Main string
	// Docs is the folder of the documentation. KeepDocs is set if the file
	// names it: generate then keeps the documentation up to date.
	Docs     string
	KeepDocs bool
	// Transports to generate wiring for, at least one, in the order in which
	// the file has them: the first is the one to try out.
	Transports []string
	// RejectExtraFields and AcceptUnknownEnum are for schemas that do not say.
	RejectExtraFields, AcceptUnknownEnum bool
	// MessageHeader is the header that names the message; "" is none.
	MessageHeader string
	// Defaults are x-idempotency fields for operations that do not set them;
	// nil is none. They are not checked yet.
	Defaults *source.Node
	// At are the places of the settings that the file has, by their names.
	At map[string]diag.Pos
}

// Pos is the place of a setting, or the file if it does not have it.
func (s *Settings) Pos(name string) diag.Pos {
	if at, ok := s.At[name]; ok {
		return at
	}
	return diag.Pos{File: s.File}
}
