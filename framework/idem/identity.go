package idem

import (
	"context"
	"slices"
	"strings"
)

// Whoever knows a message by an older recipe (an earlier version of the
// program, or one that still runs beside this one) knows it by another key. So
// a message has several keys: it goes by one of them, and the records of the
// others, its aliases, say the same for whoever looks there.

// aliasMark begins the token in the record of an alias: whoever finds one looks
// for the record that the message goes by. Programs of a single recipe write
// tokens without it.
const aliasMark = "alias:"

// held are the records of all keys of one message while a transaction holds
// them. The embedded record is what they say together; its token is bare.
type held struct {
	Record
	reused  bool // the key is another message's
	tx      Tx
	attempt *Attempt
	token   string   // of this attempt, bare
	claims  []Claim  // one for each of the attempt's keys
	records []Record // as found
}

// hold claims all keys of the message and lets it go by the right one.
func (a *Attempt) hold(ctx context.Context, tx Tx, token string) (*held, error) {
	hs := []*held{a.claims(tx, token)}
	if err := claimAll(ctx, tx, hs); err != nil {
		return nil, err
	}
	return hs[0], nil
}

// claims are the records of a message before they are claimed.
func (a *Attempt) claims(tx Tx, token string) *held {
	h := &held{tx: tx, attempt: a, token: token, claims: make([]Claim, len(a.keys)), records: make([]Record, len(a.keys))}
	for i, key := range a.keys {
		h.claims[i] = a.claim(key, token)
		if i > 0 { // a first guess; a row written with it need not be written again
			h.claims[i].Token = aliasMark + token
		}
	}
	return h
}

// claimAll claims the records of messages that share a transaction, and lets
// each go by its key. No key may be among them twice.
func claimAll(ctx context.Context, tx Tx, hs []*held) error {
	if len(hs) == 1 && len(hs[0].claims) == 1 {
		rec, err := tx.Claim(ctx, hs[0].claims[0])
		hs[0].records[0] = rec
		if err == nil {
			hs[0].decide()
		}
		return err
	}
	type place struct{ h, i int }
	var places []place
	for n, h := range hs {
		for i := range h.claims {
			places = append(places, place{n, i})
		}
	}
	key := func(p place) string { return hs[p.h].claims[p.i].Key }
	// One order for everybody, whatever their recipes are, or two could wait for each other.
	slices.SortFunc(places, func(p, q place) int { return strings.Compare(key(p), key(q)) })
	claims := make([]Claim, len(places))
	for n, p := range places {
		claims[n] = hs[p.h].claims[p.i]
	}
	records, err := tx.ClaimAll(ctx, claims)
	if err != nil {
		return err
	}
	for n, p := range places {
		hs[p.h].records[p.i] = records[n]
	}
	for _, h := range hs {
		h.decide()
	}
	return nil
}

// decide finds the key to go by, and what the records say together.
func (h *held) decide() {
	token, main := h.token, h.main()
	h.attempt.Key, h.attempt.Fingerprint = h.attempt.keys[main].text, h.attempt.keys[main].fingerprint
	h.Record, h.reused = h.records[main], h.records[main].Status != StatusNew && !h.counts(main)
	for i, rec := range h.records {
		h.claims[i].Token = aliasMark + token
		if !h.counts(i) {
			continue
		}
		if h.Status == StatusNew {
			h.Record = rec
		}
		if rec.open() && h.open() {
			h.Attempts = max(h.Attempts, rec.Attempts)
		}
	}
	h.claims[main].Token = token
	for i, rec := range h.records { // nothing undoes this one
		if rec.Status == StatusDone && h.counts(i) {
			h.Record, h.reused = rec, false
			break
		}
	}
	h.Token = strings.TrimPrefix(h.Token, aliasMark)
}

// main is the key that the message goes by: the first that somebody has
// processed it under, else its own. When an external call is open under another
// key, that one: the third party knows the message by it.
func (h *held) main() int {
	main := 0
	for i := range h.records {
		if h.owned(i) {
			main = i
			break
		}
	}
	if !h.records[main].open() && h.records[main].Status != StatusNew {
		return main
	}
	for i, rec := range h.records {
		if h.owned(i) && rec.urgency() > h.records[main].urgency() {
			main = i
		}
	}
	return main
}

// counts reports whether record i was written for this message. The record of a
// coarser recipe may be another message's.
func (h *held) counts(i int) bool {
	rec, own := h.records[i], h.claims[i].Fingerprint
	return rec.Status != StatusNew && (rec.Fingerprint == "" || own == "" || h.attempt.hasFingerprint(rec.Fingerprint))
}

// owned reports whether record i was written by somebody for whom the message
// goes by its key.
func (h *held) owned(i int) bool { return h.counts(i) && !h.records[i].alias() }

// save writes the update to every record but those of other messages. (A new
// one cannot be left as it is: the claim has made a row.)
func (h *held) save(ctx context.Context, up Update) error {
	for i, rec := range h.records {
		if rec.Status != StatusNew && !h.counts(i) {
			continue
		}
		if err := h.tx.Save(ctx, h.claims[i], up); err != nil {
			return err
		}
	}
	return nil
}

// hasFingerprint reports whether the message has that of one of its recipes.
func (a *Attempt) hasFingerprint(text string) bool {
	return slices.ContainsFunc(a.keys, func(k messageKey) bool { return k.fingerprint == text })
}

func (r Record) alias() bool { return strings.HasPrefix(r.Token, aliasMark) }

// open reports whether the record lets its message run again.
func (r Record) open() bool { return r.Status == StatusPending || r.Status == StatusStarted }

// urgency orders records by how much an external call that they tell of binds
// whoever comes next.
func (r Record) urgency() int {
	switch {
	case r.Status != StatusStarted:
		return 0
	case r.LeaseLeft > 0:
		return 3
	case r.Result != nil:
		return 2
	}
	return 1
}
