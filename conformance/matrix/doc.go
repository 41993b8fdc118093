// Package matrix holds tests only: the conformance kit on every pair of
// transport and store of this module, and what needs one of them in particular.
// It is the only place where tests meet more than one transport.
package matrix
