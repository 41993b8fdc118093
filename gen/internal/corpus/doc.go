// Package corpus holds tests only: over the contracts in gen/testdata/contracts,
// which look like those of real services, and over all others that tests use.
package corpus
