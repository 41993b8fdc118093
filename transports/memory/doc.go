// Package memory is a message queue in the memory of one process. It behaves
// as the queues in a database do (leases, redelivery, durable-style delays,
// consumer groups, order by key, retention) and loses everything when the
// process ends: it is for tests and for trying things out. It runs inside a
// testing/synctest bubble.
package memory
