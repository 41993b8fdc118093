// Package render turns a checked contract into the files of a project. It is
// pure: nothing is read from or written to a disk, and every file is complete
// before the first is handed out.
package render

import (
	"github.com/idem-go/idem/gen/internal/model"
)

// Settings say where the files of a project go. Folders are relative to the
// project's root, with slashes; "." is the root.
type Settings struct {
	// Module is the import path of the root.
	Module string
	// Messages, Handlers, Wiring and Main are the folders of Go packages;
	// Wiring has one below it for each transport.
	Messages, Handlers, Wiring, Main string
	// Transports are sqlite, postgres, kafka, kafkasqlite or memory.
	Transports []string
	// OwnTypes says that the contract is made of Go types which are in the
	// folder of the messages already: only the operations are generated there.
	OwnTypes bool
	// Previous holds, by an operation's ID, the recipes of its key that are
	// still looked up, the newest first.
	Previous map[string][]Recipe
}

// Recipe is a former recipe of a key.
type Recipe struct {
	Parts   []model.KeyPart
	Version int
}

// Owner says who may change a file.
type Owner int

// The owners.
const (
	// Generated files are idemgen's: they are overwritten.
	Generated Owner = iota
	// User files are written once and never touched again.
	User
)

// File is a file to write.
type File struct {
	// Path is relative to the project's root, with slashes.
	Path  string
	Body  []byte
	Owner Owner
	// Source is the place in the contract that it comes from, file#pointer.
	Source string
	// Operation is the ID of the operation that a User file belongs to; ""
	// if it belongs to all of them.
	Operation string
}

// Files renders all files of a project, sorted by path. An error is a defect
// of idemgen, not of the contract.
func Files(c *model.Contract, s Settings) ([]File, error) {
	return nil, nil
}
