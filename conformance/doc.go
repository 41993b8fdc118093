// Package conformance proves the guarantees of idem on every transport and
// store with the same scenarios, on real brokers and databases. It is the only
// place where tests meet more than one transport.
package conformance
