// Package crash kills processes on purpose and tells what became of their
// messages: the crash certificate.
//
// A child process consumes, writes effects, emits events, calls a third party,
// retries and gives up; it is SIGKILLed at each step of a message's path
// ([idem.Steps]), at random, or beside another child, and started again. Its
// database connection is cut in the middle of COMMIT, and whatever else the
// caller can do to the servers is done. In the end the ledger, a table of its
// own in the database and a file of the parent, says of every message whether
// its effect, its event and its call are there once, twice or not at all.
//
// The program that runs this must call [Child] first thing in main: it starts
// itself again as the child.
package crash
