// Package depcheck holds tests only: which package may import which, and that every dependency of
// the module is accounted for in CONTRIBUTING.md.
package depcheck
