// Package demo drives the orders service through everything that goes wrong in
// production and checks, from the business tables alone, that every order had
// its effect exactly once.
package demo
