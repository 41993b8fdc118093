package postgres_test

import (
	"errors"
	"testing"
	"time"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/postgres"
	"github.com/idem-go/idem/internal/testenv"
)

// A claim that waited for the lock of an existing row reads what the holder
// has committed, even where sessions default to a stricter isolation, which
// would keep the snapshot from before the wait.
func TestClaimReadsTheWinnersVersion(t *testing.T) {
	t.Parallel()
	for _, isolation := range []string{"read committed", "repeatable read", "serializable"} {
		t.Run(isolation, func(t *testing.T) {
			dsn := testenv.Postgres(t)
			s, db := open(t, postgres.Config{DSN: dsn, ClaimWait: 10 * time.Second}), admin(t, dsn)
			exec(t, db, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = ''`+isolation+`''', current_database()); END $$`)
			other := open(t, postgres.Config{DSN: dsn, ClaimWait: 10 * time.Second})

			save := func(u idem.Update) error {
				return s.Do(t.Context(), func(tx idem.Tx) error {
					_, err := tx.Claim(t.Context(), claim("k"))
					return errors.Join(err, tx.Save(t.Context(), claim("k"), u))
				})
			}
			if err := save(idem.Update{Status: idem.StatusPending, Attempts: 1, LastError: "first"}); err != nil {
				t.Fatal(err)
			}
			got := make(chan idem.Record, 1)
			winner := claim("k")
			winner.Token = "winner"
			err := other.Do(t.Context(), func(tx idem.Tx) error {
				if _, err := tx.Claim(t.Context(), winner); err != nil {
					return err
				}
				go func() {
					rec, err := attempt(other, claim("k"))
					if err != nil {
						t.Error(err)
					}
					got <- rec
				}()
				untilWaiting(t, db)
				return tx.Save(t.Context(), winner, idem.Update{Status: idem.StatusDone, Attempts: 2})
			})
			if err != nil {
				t.Fatal(err)
			}
			if rec := <-got; rec.Status != idem.StatusDone || rec.Attempts != 2 || rec.Token != "winner" || rec.LastError != "first" {
				t.Fatalf("the loser read %+v", rec)
			}
		})
	}
}

func TestClaimDuringSweepIsNew(t *testing.T) {
	t.Parallel()
	dsn := testenv.Postgres(t)
	s, db := open(t, postgres.Config{DSN: dsn, ClaimWait: 10 * time.Second}), admin(t, dsn)
	if _, err := attempt(s, claim("k")); err != nil {
		t.Fatal(err)
	}
	exec(t, db, `UPDATE idem_inbox SET expires_at = now() - interval '1s'`)
	sweep, err := db.Begin(t.Context()) // a sweep that has not committed yet
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sweep.Exec(t.Context(), `DELETE FROM idem_inbox`); err != nil {
		t.Fatal(err)
	}
	got := make(chan idem.Record, 1)
	go func() {
		rec, err := attempt(s, claim("k"))
		if err != nil {
			t.Error(err)
		}
		got <- rec
	}()
	untilWaiting(t, db)
	if err := sweep.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rec := <-got; rec.Status != idem.StatusNew {
		t.Fatalf("found %+v, want a new key", rec)
	}
	if n := value[int](t, db, `SELECT count(*) FROM idem_inbox WHERE status = 'done' AND expires_at > now()`); n != 1 {
		t.Fatalf("%d records after the claim, want 1", n)
	}
}

// The bound of the wait for a key is not the handler's.
func TestLockTimeoutIsTheClaimsAlone(t *testing.T) {
	t.Parallel()
	dsn := testenv.Postgres(t)
	for _, c := range []struct{ name, option, want string }{
		{"server default", "", "0"},
		{"of the DSN", "&lock_timeout=4321", "4321ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, postgres.Config{DSN: dsn + c.option, ClaimWait: 777 * time.Millisecond, MaxConns: 1})
			show := func(tx idem.Tx, want string) {
				t.Helper()
				var got string
				if err := native(tx).QueryRow(t.Context(), `SHOW lock_timeout`).Scan(&got); err != nil || got != want {
					t.Errorf("the handler's lock_timeout is %q (%v), want %q", got, err, want)
				}
			}
			for range 2 { // the second on the connection of the first
				err := s.Do(t.Context(), func(tx idem.Tx) error {
					_, err := tx.Claim(t.Context(), claim("a"))
					show(tx, c.want)
					_, setErr := native(tx).Exec(t.Context(), `SET LOCAL lock_timeout = 99`)
					_, again := tx.Claim(t.Context(), claim("b"))
					show(tx, "99ms") // the handler's own choice stays
					return errors.Join(err, setErr, again)
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// What makes retention cheap: a key that succeeds at once is written once, and
// a duplicate writes no version at all.
func TestSuccessAndDuplicateLeaveNoDeadRows(t *testing.T) {
	t.Parallel()
	dsn := testenv.Postgres(t)
	s, db := open(t, postgres.Config{DSN: dsn}), admin(t, dsn)
	for range 5 {
		if _, err := attempt(s, claim("k")); err != nil {
			t.Fatal(err)
		}
	}
	_ = s.Close() // a session reports its statistics at the latest when it ends
	until(t, "the statistics arrive", func() bool {
		return value[int](t, db, `SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = 'idem_inbox'`) == 1
	})
	if n := value[int](t, db, `SELECT n_tup_upd + n_tup_del FROM pg_stat_user_tables WHERE relname = 'idem_inbox'`); n != 0 {
		t.Fatalf("%d row versions were replaced", n)
	}
}

func TestSaveNeedsAClaim(t *testing.T) {
	t.Parallel()
	s := open(t, postgres.Config{})
	err := s.Do(t.Context(), func(tx idem.Tx) error { return tx.Save(t.Context(), claim("k"), done) })
	if !errors.Is(err, idem.ErrStore) {
		t.Fatalf("error %v, want ErrStore", err)
	}
}

// A row that somebody held when its turn came is found by a later pass.
func TestSweepReturnsToWhatItPassedOver(t *testing.T) {
	t.Parallel()
	dsn := testenv.Postgres(t)
	s, db := open(t, postgres.Config{DSN: dsn}), admin(t, dsn)
	for _, key := range []string{"1", "2", "3", "4", "5"} {
		if _, err := attempt(s, claim(key)); err != nil {
			t.Fatal(err)
		}
		exec(t, db, `UPDATE idem_inbox SET expires_at = now() - interval '1h' + $1 WHERE key = $2`, time.Duration(key[0])*time.Second, []byte(key))
	}
	err := s.Do(t.Context(), func(tx idem.Tx) error {
		if _, err := tx.Claim(t.Context(), claim("1")); err != nil {
			return err
		}
		if n, err := s.Sweep(t.Context(), 2); n != 2 || err != nil {
			t.Errorf("Sweep beside a held row removed %d, %v; want 2", n, err)
		}
		return errUndo
	})
	if err != errUndo {
		t.Fatal(err)
	}
	for _, want := range []int{2, 1, 0} {
		if n, err := s.Sweep(t.Context(), 2); n != want || err != nil {
			t.Fatalf("Sweep removed %d, %v; want %d", n, err, want)
		}
	}
}
