package idem

// Cause says why a message came whose key was known already.
type Cause string

// The causes of duplicates and of reused keys; stable words. "" means that the
// message was none.
const (
	// CauseRedelivery: the broker delivered the same message again, as it does
	// after a crash, a lost lease or a lost acknowledgement.
	CauseRedelivery Cause = "redelivery"
	// CauseRebalance: the same message again, because its partition went to
	// another member of the group, or to a new session of the same one.
	CauseRebalance Cause = "rebalance"
	// CauseProducer: another message with the same key and content. It was
	// published twice.
	CauseProducer Cause = "producer"
	// CauseReplay: somebody replayed a dead letter whose key was completed meanwhile.
	CauseReplay Cause = "replay"
	// CauseKeyReuse: another message with the same key and other content.
	CauseKeyReuse Cause = "key_reuse"
)

// causeOf tells from the record of a completed key why this delivery came.
func (a *Attempt) causeOf(rec Record) Cause {
	switch {
	case a.replays > 0:
		return CauseReplay
	case a.Position == "" && a.MessageID != "" && rec.MessageID == bounded(a.MessageID, maxRecordID):
		return CauseRedelivery // a foreign subscriber tells no positions
	case a.Position == "" || rec.Source != a.source():
		return CauseProducer
	case a.Delivery != nil && a.Delivery.NewSession:
		return CauseRebalance
	default:
		return CauseRedelivery
	}
}

// What a record holds of the message that changed it last.
const (
	maxRecordID     = 200
	maxRecordSource = 300
)

// source names the first delivery for people: topic@position.
func (a *Attempt) source() string { return bounded(a.Topic+"@"+a.Position, maxRecordSource) }
