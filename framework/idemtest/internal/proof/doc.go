// Package proof has the tests of package idemtest that need a server or a
// compiler. Nobody imports it, so that nobody's go.sum has what they need.
package proof
