// Package sqlite is a message queue in a SQLite database: for applications that
// run on one machine, in one process or in several. When the store is the same
// database, acknowledgements ride in the handler's transaction.
//
// SQLite has one writer at a time, so messages of handlers that write to this
// database are processed one after the other, whatever the concurrency. A
// transaction that stays open for longer than the lease keeps leases from being
// renewed, but also everybody else from claiming: nothing is lost by that.
package sqlite
