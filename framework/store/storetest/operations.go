package storetest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

var operationCases = []testCase{
	{"Audit", func(b *bench) {
		for i := range 5 {
			b.do(func(tx idem.Tx) error {
				return b.store.Audit(b.ctx, tx, idem.AuditEntry{Actor: "ana", Reason: fmt.Sprint("because ", i), Action: "dlq.replay", Consumer: "shop",
					DeadLetter: fmt.Sprint("dl", i%2), Key: "k\x00\xff", Detail: "x\x00\xff"})
			})
		}
		_ = b.store.Do(b.ctx, func(tx idem.Tx) error {
			b.ok(b.store.Audit(b.ctx, tx, idem.AuditEntry{Actor: "bob", Action: "dlq.replay"}))
			return errRollback
		})
		all := b.audit(idem.AuditQuery{})
		if len(all) != 5 || all[0].Reason != "because 4" || all[0].Key != "k\x00\xff" || all[0].Actor != "ana" || all[0].At.IsZero() || all[0].Seq <= all[1].Seq {
			b.Fatalf("audit: %+v", all)
		}
		if got := b.audit(idem.AuditQuery{DeadLetter: "dl1", Action: "dlq.replay", Consumer: "shop"}); len(got) != 2 || got[0].Reason != "because 3" {
			b.Errorf("of dl1: %+v", got)
		}
		if got := b.audit(idem.AuditQuery{Before: all[3].Seq, Limit: 1}); len(got) != 1 || got[0].Reason != "because 0" {
			b.Errorf("before %d: %+v", all[3].Seq, got)
		}
		if got := b.audit(idem.AuditQuery{Action: "none"}); len(got) != 0 {
			b.Errorf("of no action: %+v", got)
		}
	}},
	{"Control", func(b *bench) {
		set := func(c idem.Control) {
			b.do(func(tx idem.Tx) error { return b.store.SetControl(b.ctx, tx, c) })
		}
		set(idem.Control{Consumer: "shop", Paused: true, Actor: "ana", Reason: "bug"})
		set(idem.Control{Consumer: "mail", Actor: "bob"})
		set(idem.Control{Consumer: "shop", Actor: "bob", Reason: "mended", Version: 77})
		_ = b.store.Do(b.ctx, func(tx idem.Tx) error {
			b.ok(b.store.SetControl(b.ctx, tx, idem.Control{Consumer: "mail", Paused: true}))
			return errRollback
		})
		got, err := b.other.ListControls(b.ctx)
		b.ok(err)
		if len(got) != 2 || got[0].Consumer != "mail" || got[0].Paused || got[0].Version != 1 ||
			got[1].Paused || got[1].Version != 2 || got[1].Actor != "bob" || got[1].Reason != "mended" || got[1].ChangedAt.IsZero() {
			b.Fatalf("controls: %+v", got)
		}
	}},
	{"Presence", func(b *bench) {
		p := idem.Presence{Consumer: "shop", Instance: "b", State: idem.StateRunning, InFlight: 3, Settled: map[idem.Kind]int64{idem.Done: 7},
			P95: time.Second, Backlog: -1, Declared: idem.Declaration{Topic: "orders", Retention: time.Hour}}
		b.ok(b.store.Announce(b.ctx, p))
		first := p
		first.Instance = "a"
		p.State, p.Reason = idem.StatePaused, "bug: \x00\xff"
		b.ok(b.store.Announce(b.ctx, first, p))
		b.ok(b.store.Announce(b.ctx))
		got, err := b.other.ListPresence(b.ctx)
		b.ok(err)
		if len(got) != 2 || got[0].Instance != "a" || got[1].State != idem.StatePaused || got[1].Settled[idem.Done] != 7 || got[1].InFlight != 3 ||
			got[1].P95 != time.Second || got[1].Backlog != -1 || got[1].Declared.Retention != time.Hour || got[1].SeenAt.IsZero() || got[1].Age < 0 || got[1].Age > time.Minute {
			b.Fatalf("presence: %+v", got)
		}
	}},
	{"Sightings", func(b *bench) {
		s := idem.Sighting{Consumer: "shop", Key: "k\x00\xff", Cause: idem.CauseProducer, MessageID: "m1", Source: "orders@0/1", Retention: long}
		again := s
		again.MessageID, again.Count = "m1-again", 4
		other := s
		other.Cause, other.Source = idem.CauseRebalance, "orders@0/2"
		b.ok(b.store.Sight(b.ctx, s))
		b.ok(b.store.Sight(b.ctx, other, again))
		got, err := b.store.ListSightings(b.ctx, "shop", s.Key)
		b.ok(err)
		if len(got) != 2 || got[0].Count != 5 || got[0].MessageID != "m1" || got[0].Cause != idem.CauseProducer || got[0].First.IsZero() || got[0].Last.Before(got[0].First) ||
			got[1].Count != 1 || got[1].Cause != idem.CauseRebalance {
			b.Fatalf("sightings: %+v", got)
		}
		if got, err := b.store.ListSightings(b.ctx, "mail", s.Key); err != nil || len(got) != 0 {
			b.Errorf("of another consumer: %+v, %v", got, err)
		}
	}},
	{"SightingsAreBounded", func(b *bench) {
		const sent = 3 * idem.MaxSightings
		for i := range sent {
			b.ok(b.store.Sight(b.ctx, idem.Sighting{Consumer: "shop", Key: "k", Cause: idem.CauseRedelivery, MessageID: "m", Source: fmt.Sprint("orders@", i), Retention: long}))
		}
		got, err := b.store.ListSightings(b.ctx, "shop", "k")
		b.ok(err)
		var n int64
		for _, s := range got {
			n += s.Count
		}
		if len(got) != idem.MaxSightings+1 || n != sent {
			b.Fatalf("%d rows count %d duplicates, want %d rows and %d", len(got), n, idem.MaxSightings+1, sent)
		}
	}},
	{"SightingsAreForgotten", func(b *bench) {
		b.ok(b.store.Sight(b.ctx, idem.Sighting{Consumer: "shop", Key: "soon", Cause: idem.CauseReplay, Retention: tick},
			idem.Sighting{Consumer: "shop", Key: "kept", Cause: idem.CauseReplay, Retention: long}))
		b.until("sightings are removed", func() bool {
			_, err := b.store.Tidy(b.ctx, 100)
			b.ok(err)
			got, err := b.store.ListSightings(b.ctx, "shop", "soon")
			b.ok(err)
			return len(got) == 0
		})
		if got, err := b.store.ListSightings(b.ctx, "shop", "kept"); err != nil || len(got) != 1 {
			b.Fatalf("kept: %+v, %v", got, err)
		}
	}},
	{"FindRecords", func(b *bench) {
		for _, consumer := range []string{"c", "a", "b"} {
			c := claim("k")
			c.Consumer, c.MessageID, c.Source = consumer, "m-"+consumer, "orders@1"
			b.save(c, idem.Update{Status: idem.StatusDead, Attempts: 3, LastError: "no"})
		}
		b.save(claim("other"), idem.Update{Status: idem.StatusDone})
		got, err := b.store.FindRecords(b.ctx, "k")
		b.ok(err)
		if len(got) != 3 || got[0].Consumer != "a" || got[2].Consumer != "c" || got[1].Status != idem.StatusDead || got[1].Attempts != 3 ||
			got[1].MessageID != "m-b" || got[1].Source != "orders@1" || got[1].LastError != "no" || got[1].FirstSeen.IsZero() || got[1].FirstFailed.IsZero() ||
			got[1].Fingerprint != "f1" || got[1].Token != "t1" || !got[1].Expires.After(got[1].FirstSeen) {
			b.Fatalf("records: %+v", got)
		}
		if got, err := b.store.FindRecords(b.ctx, "none"); err != nil || len(got) != 0 {
			b.Errorf("of an unknown key: %+v, %v", got, err)
		}
	}},
	{"Jobs", func(b *bench) {
		save := func(j idem.Job) error {
			return b.store.Do(b.ctx, func(tx idem.Tx) error { return b.store.SaveJob(b.ctx, tx, j) })
		}
		j := idem.Job{ID: "j", Version: 1, State: "running", Body: []byte(`{"n":1}`)}
		b.ok(save(j))
		if err := save(j); !errors.Is(err, idem.ErrJobMoved) {
			b.Errorf("the first version twice: %v", err)
		}
		j.Version, j.Body = 2, []byte(`{"n":2}`)
		b.ok(save(j))
		if err := save(j); !errors.Is(err, idem.ErrJobMoved) {
			b.Errorf("the second version twice: %v", err)
		}
		got, err := b.other.GetJob(b.ctx, "j")
		b.ok(err)
		if got.Version != 2 || string(got.Body) != `{"n":2}` || got.State != "running" || got.StartedAt.IsZero() || got.UpdatedAt.Before(got.StartedAt) {
			b.Errorf("job: %+v", got)
		}
		if _, err := b.store.GetJob(b.ctx, "none"); !errors.Is(err, idem.ErrNotFound) {
			b.Errorf("unknown job: %v", err)
		}
		b.ok(save(idem.Job{ID: "k", Version: 1, State: "done"}))
		if list, err := b.store.ListJobs(b.ctx, 1); err != nil || len(list) != 1 {
			b.Errorf("jobs: %+v, %v", list, err)
		}
	}},
	{"JobStepHasOneWinner", func(b *bench) {
		var won atomic.Int64
		b.do(func(tx idem.Tx) error { return b.store.SaveJob(b.ctx, tx, idem.Job{ID: "j", Version: 1}) })
		b.race(8, func(s idem.Store) error {
			err := s.Do(b.ctx, func(tx idem.Tx) error {
				if err := s.SaveJob(b.ctx, tx, idem.Job{ID: "j", Version: 2}); err != nil {
					return err
				}
				return b.Effect(b.ctx, tx, "step")
			})
			if err == nil {
				won.Add(1)
			}
			if errors.Is(err, idem.ErrJobMoved) {
				return nil
			}
			return err
		})
		b.wantRows("step", 1)
		if won.Load() != 1 {
			b.Errorf("%d steps committed", won.Load())
		}
	}},
	{"ListOutbox", func(b *bench) {
		b.emit(idem.Outgoing{ID: "1", Topic: "t", Key: []byte("k"), Payload: []byte("12345")}, idem.Outgoing{ID: "2", Topic: "t", Delay: long})
		rows := b.lease(b.store, 1, long)
		if len(rows) != 1 {
			b.Fatalf("leased %v", ids(rows))
		}
		got, err := b.store.ListOutbox(b.ctx, 0)
		b.ok(err)
		if len(got) != 2 || got[0].ID != "1" || got[0].Topic != "t" || got[0].Key != "k" || got[0].Bytes != 5 || !got[0].Leased || got[0].Attempts != 1 ||
			got[1].Leased || got[1].DueIn < long-time.Minute || got[0].Seq >= got[1].Seq {
			b.Fatalf("outbox: %+v", got)
		}
		if got, err := b.store.ListOutbox(b.ctx, 1); err != nil || len(got) != 1 {
			b.Errorf("limit 1: %+v, %v", got, err)
		}
	}},
	{"Condition", func(b *bench) {
		got, err := b.store.Condition(b.ctx)
		b.ok(err)
		if got.Version != got.Want || got.Want == 0 || len(got.MissingIndexes) != 0 || got.Now.IsZero() {
			b.Fatalf("condition of a migrated store: %+v", got)
		}
	}},
}

func (b *bench) audit(q idem.AuditQuery) []idem.AuditEntry {
	b.Helper()
	got, err := b.store.ListAudit(b.ctx, q)
	b.ok(err)
	return got
}
