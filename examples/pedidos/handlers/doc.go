// Package handlers is what a team writes by hand: the work of each operation,
// against the business interface and nothing else. It does not know which
// broker or database it runs on.
package handlers
