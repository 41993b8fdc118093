// Package proof has the tests of package idemsql, on every database. Nobody
// imports it, so that nobody's go.sum has what they need.
package proof
