package deadletter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/idem-go/idem/framework/deadletter"
	"github.com/idem-go/idem/framework/idem"
	store "github.com/idem-go/idem/framework/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ana = deadletter.By{Actor: "ana", Reason: "ticket 7"}

// parked returns a service on a store with n parked dead letters, d00, d01 …
func parked(t *testing.T, n int) (*deadletter.Service, *store.Store) {
	t.Helper()
	s := store.New(store.Config{})
	do(t, s, func(tx idem.Tx) error {
		for i := range n {
			_, err := tx.Park(t.Context(), idem.DeadLetter{
				ID: fmt.Sprintf("d%02d", i), Consumer: "shop", Key: fmt.Sprintf("k%02d", i), Fingerprint: "f", Topic: "orders", MessageID: fmt.Sprint("m", i),
				Reason: idem.ReasonPermanent, Class: idem.ClassPermanent, Error: "no", Attempts: 1, Payload: fmt.Appendf(nil, `{"id":"k%02d","n":9007199254740993}`, i),
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return deadletter.New(s, 0), s
}

func do(t *testing.T, s idem.Store, f func(idem.Tx) error) {
	t.Helper()
	if err := s.Do(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// complete marks the key of a dead letter as processed.
func complete(t *testing.T, s idem.Store, key string) {
	t.Helper()
	do(t, s, func(tx idem.Tx) error {
		c := idem.Claim{Consumer: "shop", Key: key, Fingerprint: "f", MessageID: "other", Source: "orders@9", Retention: 1 << 40}
		if _, err := tx.Claim(t.Context(), c); err != nil {
			return err
		}
		return tx.Save(t.Context(), c, idem.Update{Status: idem.StatusDone, Attempts: 1})
	})
}

func replays(t *testing.T, s idem.Store) map[string]int {
	t.Helper()
	rows, err := s.LeaseOutbox(t.Context(), 1000, 1)
	must(t, err)
	n := map[string]int{}
	for _, r := range rows {
		n[r.ID]++
	}
	return n
}

func TestTransform(t *testing.T) {
	for name, tc := range map[string]struct {
		change deadletter.Change
		want   string
		wrong  string
	}{
		"json patch":      {change: deadletter.Change{JSONPatch: json.RawMessage(`[{"op":"replace","path":"/id","value":"<k>"},{"op":"add","path":"/x","value":null}]`)}, want: `{"id":"<k>","n":9007199254740993,"x":null}`},
		"merge patch":     {change: deadletter.Change{MergePatch: json.RawMessage(`{"id":null,"x":{"y":1}}`)}, want: `{"n":9007199254740993,"x":{"y":1}}`},
		"upcaster":        {change: deadletter.Change{Upcaster: "v2"}, want: `{"v":2}`},
		"changes nothing": {change: deadletter.Change{MergePatch: json.RawMessage(`{}`)}},
		"test fails":      {change: deadletter.Change{JSONPatch: json.RawMessage(`[{"op":"test","path":"/id","value":"other"}]`)}, wrong: "test"},
		"no such path":    {change: deadletter.Change{JSONPatch: json.RawMessage(`[{"op":"remove","path":"/none"}]`)}, wrong: "none"},
		"no patch":        {change: deadletter.Change{JSONPatch: json.RawMessage(`{"a":1}`)}, wrong: "6902"},
		"no json":         {change: deadletter.Change{MergePatch: json.RawMessage(`{`)}, wrong: "7386"},
		"nothing":         {wrong: "give one of"},
		"two":             {change: deadletter.Change{Upcaster: "v2", MergePatch: json.RawMessage(`{}`)}, wrong: "give one of"},
		"unknown":         {change: deadletter.Change{Upcaster: "v9"}, wrong: "v9"},
		"panics":          {change: deadletter.Change{Upcaster: "panics"}, wrong: "panic"},
	} {
		t.Run(name, func(t *testing.T) {
			letters, s := parked(t, 1)
			letters.RegisterUpcaster("v2", func(context.Context, idem.DeadLetter) ([]byte, error) { return []byte(`{"v":2}`), nil })
			letters.RegisterUpcaster("panics", func(context.Context, idem.DeadLetter) ([]byte, error) { panic("boom") })
			before, err := s.GetDeadLetter(t.Context(), "d00")
			must(t, err)
			preview, previewErr := letters.Preview(t.Context(), "d00", tc.change)
			edit, err := letters.Transform(t.Context(), "d00", tc.change, ana)
			after, getErr := s.GetDeadLetter(t.Context(), "d00")
			must(t, getErr)
			audit, auditErr := s.ListAudit(t.Context(), idem.AuditQuery{DeadLetter: "d00"})
			must(t, auditErr)
			if tc.want == "" {
				if after.Edits != 0 || string(after.Payload) != string(before.Payload) || len(audit) != 0 {
					t.Errorf("changed to %s, %d edits, audit %v", after.Payload, after.Edits, audit)
				}
				if tc.wrong != "" && (!errors.Is(err, deadletter.ErrChange) || !errors.Is(previewErr, deadletter.ErrChange) || !strings.Contains(err.Error(), tc.wrong)) {
					t.Errorf("errors %v and %v, want ErrChange with %q", err, previewErr, tc.wrong)
				}
				return
			}
			must(t, err)
			must(t, previewErr)
			if diff := cmp.Diff(preview, edit); diff != "" {
				t.Errorf("the preview differs: %s", diff)
			}
			if string(after.Payload) != tc.want || string(after.Original) != string(before.Payload) || after.State != idem.DeadLetterParked {
				t.Errorf("payload %s of %s, %s", after.Payload, after.Original, after.State)
			}
			if !edit.Changed || !strings.Contains(edit.Diff, "\n-  \"id\"") {
				t.Errorf("diff %q", edit.Diff)
			}
			if len(audit) != 1 || audit[0].Actor != "ana" || audit[0].Reason != "ticket 7" || audit[0].Action != deadletter.ActionTransform || strings.Contains(audit[0].Detail, "<k>") {
				t.Errorf("audit %+v", audit)
			}
		})
	}
}

func TestOnlyParkedOnesAreTransformed(t *testing.T) {
	letters, _ := parked(t, 1)
	must(t, letters.Discard(t.Context(), "d00", ana))
	if _, err := letters.Transform(t.Context(), "d00", deadletter.Change{MergePatch: json.RawMessage(`{"a":1}`)}, ana); !errors.Is(err, deadletter.ErrNotParked) {
		t.Errorf("got %v", err)
	}
}

func TestShowTellsTheWholeStory(t *testing.T) {
	letters, s := parked(t, 1)
	must(t, letters.Replay(t.Context(), "d00", deadletter.ReplayOptions{By: ana}))
	again := idem.DeadLetter{ID: "again", Consumer: "shop", Key: "k00", Fingerprint: "f", Replays: 1}
	do(t, s, func(tx idem.Tx) error { _, err := tx.Park(t.Context(), again); return err })
	complete(t, s, "k00")
	story, err := letters.Show(t.Context(), "d00")
	must(t, err)
	if len(story.Others) != 2 || len(story.Audit) != 1 || story.Audit[0].Action != deadletter.ActionReplay || story.Record == nil || story.Record.Status != idem.StatusDone || !errors.Is(story.Refused, idem.ErrAlreadyDone) {
		t.Errorf("story %+v", story)
	}
	if _, err := letters.Show(t.Context(), "none"); !errors.Is(err, idem.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestJobIsContinuedWhereItStopped(t *testing.T) {
	letters, s := parked(t, 30)
	complete(t, s, "k03")
	must(t, letters.Discard(t.Context(), "d05", ana))
	job, err := letters.Start(t.Context(), deadletter.Order{Work: deadletter.WorkReplay, Query: idem.DeadLetterQuery{Consumer: "shop"}, By: ana, PerSecond: -1})
	must(t, err)
	if job.Total != 29 {
		t.Errorf("total %d, want 29", job.Total)
	}
	// What is parked later is not for this job.
	do(t, s, func(tx idem.Tx) error {
		_, err := tx.Park(t.Context(), idem.DeadLetter{ID: "late", Consumer: "shop", Key: "late"})
		return err
	})
	ctx, cancel := context.WithCancel(t.Context())
	_, err = letters.Continue(ctx, job.ID, func(p deadletter.Progress) {
		if p.Done == 10 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("stopped with %v", err)
	}
	end, err := letters.Continue(t.Context(), job.ID, nil)
	must(t, err)
	if end.State != deadletter.JobDone || end.Done != 28 || end.Refused != 1 || end.Failed != 0 || len(end.Problems) != 1 || end.Problems[0].DeadLetter != "d03" {
		t.Errorf("end %+v", end)
	}
	sent := replays(t, s)
	if len(sent) != 28 {
		t.Errorf("%d replays, want 28", len(sent))
	}
	for id, n := range sent {
		if n != 1 {
			t.Errorf("%s was sent %d times", id, n)
		}
	}
	late, err := letters.Get(t.Context(), "late")
	must(t, err)
	if late.State != idem.DeadLetterParked {
		t.Errorf("the late one is %s", late.State)
	}
	if again, err := letters.Continue(t.Context(), job.ID, nil); err != nil || again.Done != 28 {
		t.Errorf("continued when done: %+v, %v", again, err)
	}
	audit, err := s.ListAudit(t.Context(), idem.AuditQuery{Action: deadletter.ActionReplay})
	must(t, err)
	if len(audit) != 28 {
		t.Errorf("%d replays are audited", len(audit))
	}
}

func TestTwoDoNotRunOneJob(t *testing.T) {
	letters, s := parked(t, 20)
	job, err := letters.Start(t.Context(), deadletter.Order{Work: deadletter.WorkDiscard, By: ana, PerSecond: -1})
	must(t, err)
	var inner error
	_, err = letters.Continue(t.Context(), job.ID, func(p deadletter.Progress) {
		if p.Done == 5 {
			_, inner = letters.Continue(t.Context(), job.ID, nil)
		}
	})
	must(t, inner)
	if !errors.Is(err, idem.ErrJobMoved) {
		t.Errorf("the first one ended with %v", err)
	}
	audit, err := s.ListAudit(t.Context(), idem.AuditQuery{Action: deadletter.ActionDiscard})
	must(t, err)
	if len(audit) != 20 {
		t.Errorf("%d discards", len(audit))
	}
}

func TestCancelledJobStops(t *testing.T) {
	letters, _ := parked(t, 20)
	job, err := letters.Start(t.Context(), deadletter.Order{Work: deadletter.WorkTransform, Change: deadletter.Change{MergePatch: json.RawMessage(`{"x":1}`)}, By: ana, PerSecond: -1})
	must(t, err)
	_, err = letters.Continue(t.Context(), job.ID, func(p deadletter.Progress) {
		if p.Done == 5 {
			must(t, letters.Cancel(t.Context(), job.ID, ana))
		}
	})
	if err == nil || !strings.Contains(err.Error(), "cancelled") {
		t.Errorf("ended with %v", err)
	}
	edited := 0
	for d, err := range letters.All(t.Context(), idem.DeadLetterQuery{}) {
		must(t, err)
		edited += d.Edits
	}
	if edited != 5 {
		t.Errorf("%d edits, want 5", edited)
	}
}

func TestFixtureRoundTrip(t *testing.T) {
	d := idem.DeadLetter{Consumer: "shop", Topic: "orders", Reason: idem.ReasonBug, Envelope: idem.Envelope{Key: []byte{}, Headers: []idem.Header{{Name: "a", Value: []byte("ü")}, {Name: "b", Value: []byte{255}}, {Name: "a", Value: []byte{}}}}}
	for _, payload := range [][]byte{[]byte(`{"n":9007199254740993,"s":"<&>"}`), {0, 255}, []byte(`{"broken`)} {
		d.Payload = payload
		text, err := json.Marshal(deadletter.FixtureOf(d))
		must(t, err)
		f, err := deadletter.ParseFixture(text)
		must(t, err)
		headers, got := f.Message()
		var want, have any
		if json.Unmarshal(payload, &want) == nil {
			must(t, json.Unmarshal(got, &have))
			if diff := cmp.Diff(want, have); diff != "" {
				t.Error(diff)
			}
		} else if string(got) != string(payload) {
			t.Errorf("payload %q, want %q", got, payload)
		}
		if diff := cmp.Diff(d.Envelope.Headers, headers); diff != "" {
			t.Error(diff)
		}
	}
}
