// Package demo drives the orders service through everything that goes wrong in
// production and checks, from the business tables and the payment gateway
// alone, that every order had each of its effects exactly once.
//
// [Main] plays a run: it publishes the plan, lets two instances of the service
// race for it ([Work]), breaks and mends things while they do, and in the end
// compares what should be there with what is.
package demo
