package gen

import "errors"

// InitOptions say what project to begin.
type InitOptions struct {
	// Dir is the folder of the project; it must be empty or not be there.
	Dir string
	// Module is the import path of its Go module; "" means the folder's name.
	Module string
	// Transports to wire, at least one; the first is the one to try out.
	Transports []string
	// Version of idemgen, to require the library in.
	Version string
}

// Init begins a project that runs, and returns the files that it has written,
// relative to the folder.
func Init(o InitOptions) ([]string, error) {
	return nil, errors.New("not there yet")
}
