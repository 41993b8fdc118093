package postgres_test

import (
	"bytes"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/postgres"
	"github.com/idem-go/idem/internal/testenv"
)

func TestValidateNamesEveryField(t *testing.T) {
	t.Parallel()
	const dsn = "postgres://u@localhost/db"
	for _, c := range []struct {
		name string
		cfg  postgres.Config
		want []string // fields, in order; none: valid
	}{
		{"least", postgres.Config{DSN: dsn}, nil},
		{"nothing", postgres.Config{}, []string{"DSN"}},
		{"both", postgres.Config{DSN: dsn, Pool: &pgxpool.Pool{}}, []string{"DSN"}},
		{"everything", postgres.Config{
			DSN: "postgres://u:secret@:x/", Schema: strings.Repeat("s", 64), TablePrefix: `a"; DROP`, ClaimWait: -1, CommitTimeout: -1,
			AcquireWait: -1, MaxConns: -1,
		}, []string{"DSN", "Schema", "TablePrefix", "ClaimWait", "CommitTimeout", "AcquireWait", "MaxConns"}},
		{"size of a given pool", postgres.Config{Pool: &pgxpool.Pool{}, MaxConns: 3}, []string{"MaxConns"}},
		{"prefix too long", postgres.Config{DSN: dsn, TablePrefix: strings.Repeat("p", 31)}, []string{"TablePrefix"}},
		{"longest prefix", postgres.Config{DSN: dsn, TablePrefix: strings.Repeat("p", 30)}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			if err := c.cfg.Validate(); err != nil {
				if strings.Contains(err.Error(), "secret") {
					t.Errorf("the message shows the password: %v", err)
				}
				for line := range strings.Lines(err.Error()) {
					got = append(got, strings.Fields(line)[1])
				}
			}
			if strings.Join(got, " ") != strings.Join(c.want, " ") {
				t.Errorf("wrong fields are %v, want %v", got, c.want)
			}
		})
	}
}

// Poolers and old set-ups need other ways to send statements than the default.
func TestEveryQueryMode(t *testing.T) {
	t.Parallel()
	dsn := testenv.Postgres(t)
	db := admin(t, dsn)
	bigKey := make([]byte, 10_000) // random: does not compress to what an index entry can hold
	_, _ = rand.Read(bigKey)
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			pool, err := pgxpool.New(t.Context(), dsn+"&default_query_exec_mode="+mode)
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			s := open(t, postgres.Config{Pool: pool, Schema: "in_" + mode, TablePrefix: strings.Repeat("p", 30)})
			c := claim("k\x00\xff" + mode)
			c.MessageID = "\x00"
			for _, u := range []idem.Update{
				{Status: idem.StatusPending, Attempts: 1, LastError: "it's \\ \x00", Lease: time.Minute, Result: []byte{0, 0xff}}, done,
			} {
				err := s.Do(t.Context(), func(tx idem.Tx) error {
					if _, err := tx.Claim(t.Context(), c); err != nil {
						return err
					}
					if err := tx.Emit(t.Context(), idem.Outgoing{ID: string(u.Status) + "\xff", Topic: "orders", Key: bigKey, Payload: []byte{},
						Headers: []idem.Header{{Name: "a\x00", Value: []byte{0, 0xff}}, {Name: `\x`, Value: nil}}}); err != nil {
						return err
					}
					if _, err := tx.Park(t.Context(), idem.DeadLetter{ID: `\x41`, Payload: []byte{0}}); err != nil {
						return err
					}
					return tx.Save(t.Context(), c, u)
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			rows, err := s.LeaseOutbox(t.Context(), 10, time.Minute)
			if err != nil || len(rows) != 2 || rows[0].ID != "pending\xff" || !bytes.Equal(rows[1].Key, bigKey) || rows[0].Payload == nil ||
				rows[0].Headers[0].Name != "a\x00" || rows[0].Headers[1].Name != `\x` || rows[0].Headers[1].Value != nil {
				t.Fatalf("leased %+v, %v", rows, err)
			}
			if err := s.Published(t.Context(), rows...); err != nil {
				t.Fatal(err)
			}
			if d, err := s.GetDeadLetter(t.Context(), `\x41`); err != nil || d.ID != `\x41` {
				t.Fatalf("dead letter %q, %v", d.ID, err)
			}
			if got, err := s.ListDeadLetters(t.Context(), idem.DeadLetterQuery{State: idem.DeadLetterParked}); err != nil || len(got) != 1 {
				t.Fatalf("listed %v, %v", got, err)
			}
			if got := value[string](t, db, `SELECT status FROM in_`+mode+`.`+strings.Repeat("p", 30)+`inbox`); got != "done" {
				t.Fatalf("record is %q", got)
			}
		})
	}
}
