package postgres_test

import (
	"errors"
	"testing"
	"time"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/postgres"
	"github.com/idem-go/idem/internal/testenv"
)

// What the engine does after an unknown commit: it claims the key again and
// compares tokens. The answer is only worth something if the claim waits for
// the session that may still commit.
func TestReadBackWaitsForTheDyingSession(t *testing.T) {
	t.Parallel()
	dsn := testenv.Postgres(t)
	p, through := newProxy(t, dsn)
	s, db := open(t, postgres.Config{DSN: through, ClaimWait: 10 * time.Second}), admin(t, dsn)

	p.cutNext(cutHold)
	_, err := attempt(s, claim("k"))
	if !errors.Is(err, idem.ErrUnknownCommit) || !errors.Is(err, idem.ErrStore) {
		t.Fatalf("error %v; want ErrStore and ErrUnknownCommit", err)
	}
	type answer struct {
		rec idem.Record
		err error
	}
	answers := make(chan answer, 1)
	again := claim("k")
	again.Token = "t2"
	go func() {
		rec, err := attempt(s, again)
		answers <- answer{rec, err}
	}()
	untilWaiting(t, db)
	close(p.release) // the old COMMIT arrives
	if a := <-answers; a.err != nil || a.rec.Status != idem.StatusDone || a.rec.Token != "t1" {
		t.Fatalf("read back %+v, %v; want the first attempt's record", a.rec, a.err)
	}
	if n := value[int](t, db, `SELECT count(*) FROM effect`); n != 1 {
		t.Fatalf("%d effects, want 1", n)
	}
}

func TestReadBackIsInFlightWhileUndecided(t *testing.T) {
	t.Parallel()
	p, through := newProxy(t, testenv.Postgres(t))
	s := open(t, postgres.Config{DSN: through, ClaimWait: 50 * time.Millisecond})
	p.cutNext(cutHold)
	if err := s.Do(t.Context(), func(tx idem.Tx) error { _, err := tx.Claim(t.Context(), claim("k")); return err }); !errors.Is(err, idem.ErrUnknownCommit) {
		t.Fatalf("error %v; want ErrUnknownCommit", err)
	}
	if _, err := attempt(s, claim("k")); !errors.Is(err, idem.ErrInFlight) {
		t.Fatalf("claim while the first may still commit returned %v, want ErrInFlight", err)
	}
	close(p.release)
}

func TestCommitTimeoutIsUnknown(t *testing.T) {
	t.Parallel()
	dsn := testenv.Postgres(t)
	s, db := open(t, postgres.Config{DSN: dsn, CommitTimeout: 100 * time.Millisecond}), admin(t, dsn)
	exec(t, db, `
		CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(2); RETURN NULL; END $$;
		CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON effect DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow()`)
	start := time.Now()
	_, err := attempt(s, claim("k"))
	if !errors.Is(err, idem.ErrUnknownCommit) {
		t.Fatalf("error %v; want ErrUnknownCommit", err)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Fatalf("COMMIT had %v, want about 100ms", took)
	}
}

// One pipeline for BEGIN and claim, one for mark, outbox rows and COMMIT.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	p, through := newProxy(t, testenv.Postgres(t))
	s := open(t, postgres.Config{DSN: through, MaxConns: 1})
	run := func(key string, u idem.Update) int64 {
		before := p.syncs.Load()
		err := s.Do(t.Context(), func(tx idem.Tx) error {
			rec, err := tx.Claim(t.Context(), claim(key))
			if err != nil || rec.Status == idem.StatusDone {
				return errors.Join(err, errUndo)
			}
			if err := tx.Emit(t.Context(), idem.Outgoing{ID: key, Topic: "orders"}, idem.Outgoing{ID: key + "'", Topic: "orders"}); err != nil {
				return err
			}
			return tx.Save(t.Context(), claim(key), u)
		})
		if err != nil && !errors.Is(err, errUndo) {
			t.Fatal(err)
		}
		return p.syncs.Load() - before
	}
	for _, key := range []string{"warm", "warm"} { // each connection prepares each statement once
		run(key, done)
	}
	run("warmer", idem.Update{Status: idem.StatusPending, Attempts: 2, LastError: "x"})
	if n := run("new", done); n != 2 {
		t.Errorf("a new key took %d round trips, want 2", n)
	}
	if n := run("failed", idem.Update{Status: idem.StatusPending, Attempts: 2, LastError: "x"}); n != 2 {
		t.Errorf("a recorded failure took %d round trips, want 2", n)
	}
	if n := run("new", done); n != 2 {
		t.Errorf("a duplicate took %d round trips, want 2", n)
	}
}
