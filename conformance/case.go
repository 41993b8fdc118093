package conformance

import (
	"slices"

	"github.com/idem-go/idem/framework/idem"
)

// Case is one promise and how it is put to the test.
type Case struct {
	// ID is the case's name for ever: "DUP-01".
	ID string
	// Intent is what must hold, in one line.
	Intent string
	// Needs are what the case cannot do without.
	Needs []Need
	// Run proves it.
	Run func(w *World)
}

// Need is something that a transport declares or a harness provides, by the name
// of the field that says so.
type Need string

// What cases need.
const (
	// Fields of [idem.Capabilities].
	NeedOrderedByKey   Need = "Capabilities.OrderedByKey"
	NeedConsumerGroups Need = "Capabilities.ConsumerGroups"
	NeedDurableDelay   Need = "Capabilities.DurableDelay"
	// NeedDatabase: queue and store are one database.
	NeedDatabase Need = "Capabilities.Database"
	// NeedWriters: the database runs several writing transactions at a time.
	NeedWriters Need = "not Effects.SingleWriter"
	// NeedLoss: a message in hand can be given to somebody else.
	NeedLoss Need = "Faults.ExpireLeases or Process.Cut"
	// Fields of [Faults], of [Effects] and of [Place].
	NeedDropConnections Need = "Faults.DropConnections"
	NeedOutage          Need = "Faults.Outage"
	NeedExpireLeases    Need = "Faults.ExpireLeases"
	NeedRewind          Need = "Faults.Rewind"
	NeedBreakCommit     Need = "Faults.BreakCommit"
	NeedRefuse          Need = "Effects.Refuse"
	NeedStrangers       Need = "Place.Strangers"
)

// traits are what a harness has.
type traits struct {
	caps      idem.Capabilities
	database  bool
	faults    Faults
	effects   Effects
	strangers bool
	cut       bool
}

func (h traits) has(n Need) bool {
	switch n {
	case NeedOrderedByKey:
		return h.caps.OrderedByKey
	case NeedConsumerGroups:
		return h.caps.ConsumerGroups
	case NeedDurableDelay:
		return h.caps.DurableDelay
	case NeedDatabase:
		return h.database
	case NeedWriters:
		return !h.effects.SingleWriter
	case NeedLoss:
		return h.faults.ExpireLeases != nil || h.cut
	case NeedDropConnections:
		return h.faults.DropConnections != nil
	case NeedOutage:
		return h.faults.Outage != nil
	case NeedExpireLeases:
		return h.faults.ExpireLeases != nil
	case NeedRewind:
		return h.faults.Rewind != nil
	case NeedBreakCommit:
		return h.faults.BreakCommit != nil
	case NeedRefuse:
		return h.effects.Refuse != nil
	case NeedStrangers:
		return h.strangers
	}
	return false
}

// missing returns the first thing that the case needs and the harness has not.
func (h traits) missing(c Case) (Need, bool) {
	for _, n := range c.Needs {
		if !h.has(n) {
			return n, true
		}
	}
	return "", false
}

// Cases returns all cases, by family.
func Cases() []Case {
	return slices.Concat(dupCases(), raceCases(), dlqCases(), retryCases(), orderCases(), flowCases(), drainCases(), fidelityCases(), leaseCases(), foreignCases())
}
