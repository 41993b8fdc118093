// Package doccheck holds tests only: what the documents of the module say is there. Go code in them
// compiles here or elsewhere, configurations load, files, links and tests that they name exist.
package doccheck
