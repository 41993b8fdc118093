package middleware_test

import (
	"context"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/memory"
)

// Between the end of a run and the writing of its outcome nothing holds the
// keys. What another program did meanwhile is found, under whatever key.
func TestOutcomeMeetsWhatHappenedMeanwhile(t *testing.T) {
	const own, other = "v2:|1|10", "1"
	body := []byte(`{"id":"1","total":10}`)
	same := "" // the fingerprint of body
	for name, tc := range map[string]struct {
		reuse     idem.KeyReuse
		key       string // what the other program writes
		status    idem.Status
		content   *string
		ends      idem.Outcome
		want      idem.Outcome
		untouched string // a key that must have no record afterwards
		letters   int
	}{
		"done under the old key": {
			key: other, status: idem.StatusDone, content: &same, ends: idem.Outcome{Kind: idem.Retry}, want: idem.Outcome{Kind: idem.Duplicate}, untouched: own,
		},
		"done under the old key, given up": {
			key: other, status: idem.StatusDone, content: &same, ends: idem.Outcome{Kind: idem.Dead}, want: idem.Outcome{Kind: idem.Duplicate}, untouched: own,
		},
		"own key taken by other content": {
			key: own, status: idem.StatusDone, content: new("x"), ends: idem.Outcome{Kind: idem.Retry},
			want: idem.Outcome{Kind: idem.Dead, Reason: idem.ReasonKeyReuse}, untouched: other, letters: 1,
		},
		"own key taken by other content, which is noise": {
			reuse: idem.ReuseDiscards, key: own, status: idem.StatusPending, content: new("x"), ends: idem.Outcome{Kind: idem.Pause},
			want: idem.Outcome{Kind: idem.Discard, Reason: idem.ReasonKeyReuse}, untouched: other, letters: 1,
		},
		"own key taken by other content, given up for a reason of its own": {
			key: own, status: idem.StatusStarted, content: new("x"), ends: idem.Outcome{Kind: idem.Dead, Reason: idem.ReasonInvalid},
			want: idem.Outcome{Kind: idem.Dead, Reason: idem.ReasonInvalid}, untouched: other, letters: 1,
		},
		"old key taken by other content": {
			key: other, status: idem.StatusDone, content: new("x"), ends: idem.Outcome{Kind: idem.Retry}, want: idem.Outcome{Kind: idem.Retry},
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			store := memory.New(memory.Config{})
			engine, err := idem.NewEngine(store, nil, idem.Classifier{}, nil)
			must(t, err)
			op := withDefaults(idem.Operation{Key: recipe2, OnKeyReuse: tc.reuse})
			c, err := idem.NewConsumer(engine, op, idem.HandlerFunc[order](takeEffect))
			must(t, err)
			a := c.Attempt(message.NewMessage("m", body))
			same = a.Fingerprint
			claim := func(key, fingerprint string) idem.Claim {
				return idem.Claim{Consumer: "billing", Key: key, Fingerprint: fingerprint, Token: "other", Retention: time.Hour}
			}
			must(t, store.Do(ctx, func(tx idem.Tx) error {
				cl := claim(tc.key, *tc.content)
				if _, err := tx.Claim(ctx, cl); err != nil {
					return err
				}
				return tx.Save(ctx, cl, idem.Update{Status: tc.status, Attempts: 1})
			}))
			got, err := c.Record(ctx, a, tc.ends, errBlip, -1)
			must(t, err)
			if got != tc.want {
				t.Errorf("outcome %+v, want %+v", got, tc.want)
			}
			find := func(key string) (rec idem.Record) {
				must(t, store.Do(context.Background(), func(tx idem.Tx) (err error) {
					rec, err = tx.Claim(ctx, claim(key, "y"))
					return err
				}))
				return rec
			}
			if rec := find(tc.key); rec.Status != tc.status || rec.Token != "other" || rec.Fingerprint != *tc.content {
				t.Errorf("the other program's record has become %+v", rec)
			}
			if tc.untouched != "" {
				if rec := find(tc.untouched); rec.Status != idem.StatusNew {
					t.Errorf("left behind under key %q: %+v", tc.untouched, rec)
				}
			}
			letters, err := store.ListDeadLetters(ctx, idem.DeadLetterQuery{})
			must(t, err)
			if len(letters) != tc.letters || tc.letters > 0 && letters[0].Reason != tc.want.Reason {
				t.Errorf("letters %+v, want %d of reason %q", letters, tc.letters, tc.want.Reason)
			}
		})
	}
}
