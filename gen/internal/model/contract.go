// Package model is what idemgen knows of a contract, whichever input it came
// from: checked, with every reference followed and every Go name chosen. What
// is in a model can be generated; everything else was refused before.
package model

import (
	"maps"
	"time"

	"github.com/idem-go/idem/gen/internal/diag"
)

// Contract is a whole contract.
type Contract struct {
	Title, Version, Description string
	// Source is the contract's file, relative to the project's root.
	Source string
	// Operations are consumers, Sends what is published; each sorted by ID.
	Operations []*Operation
	Sends      []*Send
	// Messages are those of any operation or send, sorted by Name.
	Messages []*Message
	// Types are the named Go types to declare, sorted by Name. Payloads and
	// headers are among them.
	Types []*Type
}

// Operation is a consumer: a receive operation of the contract.
type Operation struct {
	ID string
	// GoName is the exported Go name of its handler.
	GoName string
	// Summary and Description are the contract's; may be empty.
	Summary, Description string
	// Scope is the consumer's name: idem.Operation.Name.
	Scope string
	// ScopeWritten: the contract names the scope; else it is the ID.
	ScopeWritten bool
	// Topic is the channel's address.
	Topic string
	// Messages it may get, at least one, in the order in which the operation
	// lists them, else by their keys in the channel. Dispatch tells them apart
	// if the channel has several, even if the operation takes but one.
	Messages []*Message
	Dispatch *Dispatch

	Key        []KeyPart
	KeyVersion int // at least 1
	// OnMissingKey is deadletter, fail or derive.
	OnMissingKey string
	Fingerprint  Fingerprint
	// OnConflict is deadletter or discard.
	OnConflict string
	// Retention is how long a processed key is remembered; 0 leaves it to the
	// library's default.
	Retention time.Duration
	Retry     Retry
	// Transaction is one of [Transactions].
	Transaction string
	// Result is what an external call returns; nil is raw JSON.
	Result *Type
	// Unordered gives up the order by key.
	Unordered bool
	// DeadLetterTopic is "" for the library's default and "-" for none.
	DeadLetterTopic string
	// Concurrency and RatePerSecond are 0 for the library's defaults.
	Concurrency   int
	RatePerSecond float64
	// Dependency names the circuit breaker; "" is none.
	Dependency string
	// Breaker is what the contract says about that breaker; nil leaves it to
	// the configuration.
	Breaker *Breaker
	// Emits are the sends that the handler may use. Nil, not empty, means that
	// the contract says nothing, and then it may emit nothing.
	Emits []*Send
	// LogFields maps names to JSON pointers into the payload.
	LogFields map[string]string

	Pos diag.Pos
	// KeyPos is where the key is written, in the operation or a trait; the zero
	// value means Pos.
	KeyPos diag.Pos
	// Source is where it stands, file#pointer.
	Source string
}

// Dispatch says how the messages of a channel are told apart, if it has
// several. Exactly one of Header and Pointer is set; it holds one of Values,
// one for each message of the operation in their order.
type Dispatch struct {
	// Header is the name of a header.
	Header string
	// Pointer is the JSON pointer of a string in the payload.
	Pointer string
	Values  []string
	// Others are the values of the channel's messages that the operation does
	// not take: it lets them pass, they are not wrong.
	Others []string
}

// KeyPart is one source of a key; exactly one field is set.
type KeyPart struct {
	Header  string
	Pointer string
}

// Fingerprint is None, Pointers, or, when it is zero, the whole payload.
type Fingerprint struct {
	None     bool
	Pointers []string
}

// Same reports whether both compare the same values; their order means nothing.
func (f Fingerprint) Same(other Fingerprint) bool {
	return f.None == other.None && maps.Equal(set(f.Pointers), set(other.Pointers))
}

func set(list []string) map[string]bool {
	out := make(map[string]bool, len(list))
	for _, s := range list {
		out[s] = true
	}
	return out
}

// Retry bounds retries; zero fields leave it to the library's defaults.
type Retry struct {
	MaxAttempts int
	// Quick is nil for the default; 0 is none.
	Quick         *int
	BackoffBase   time.Duration
	BackoffMax    time.Duration
	BackoffFactor float64
	Timeout       time.Duration
	OnBug         string // "", pause or deadletter
}

// Breaker configures a dependency's circuit breaker; zero fields leave it to
// the library's defaults.
type Breaker struct {
	Failures int
	OpenFor  time.Duration
	Probes   int
}

// Send is a send operation: what may be emitted.
type Send struct {
	ID string
	// GoName is the exported Go name of its emitter, without "Emit".
	GoName               string
	Summary, Description string
	Topic                string
	// Messages it may emit, at least one; if the channel has several, Dispatch
	// says what the receiver tells them apart by (a header is set by the
	// emitter).
	Messages []*Message
	Dispatch *Dispatch
	// OrderingKey is where the ordering key is; nil takes that of the message
	// being handled.
	OrderingKey *KeyPart
	Pos         diag.Pos
	Source      string
}

// Message is a message of the contract.
type Message struct {
	// Name is the contract's stable name.
	Name string
	// GoName is the Go name of its payload's type.
	GoName               string
	Summary, Description string
	ContentType          string
	// Payload is an object, map, union, array or raw JSON type; never nil.
	Payload *Type
	// Headers is an object of scalars, or nil if the contract declares none.
	Headers *Type
	// Examples are payloads as JSON, checked against the schema.
	Examples []Example
	Pos      diag.Pos
	Source   string
}

// Example is a payload that the contract shows.
type Example struct {
	Name    string
	Payload []byte
	Headers map[string]string
}

// Transactions are the ways in which effects and keys share transactions: own
// (one for each message), group (messages that are in flight together share one),
// batch (and the handler gets them together) and external (a call outside the
// database, in three steps).
func Transactions() []string { return []string{"own", "group", "batch", "external"} }
