package postgres

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/idem-go/idem/transports/internal/queue"
)

func many(n int, name, key string) []queue.Message {
	msgs := make([]queue.Message, n)
	for i := range msgs {
		msgs[i] = msg(fmt.Sprint(name, i), key)
	}
	return msgs
}

// What is behind 50,000 messages of one key is claimed at once, and when that
// backlog has been looked through, a claim no longer notices it.
func TestHotKeyDoesNotSlowClaims(t *testing.T) {
	t.Parallel()
	b := newQueue(t)
	publish(t, b, many(50_000, "hot", "hot")...)
	for i := range 200 {
		publish(t, b, msg(fmt.Sprint("cold", i), fmt.Sprint("key", i)))
	}

	before := pagesOfClaim(t, b, wideScan)
	begun := time.Now()
	first := claim(t, b, 10, true)
	if len(first) < 2 {
		t.Errorf("first claim of 10 got %v, want more than the hot key's oldest", uuids(first))
	}
	t.Logf("first claim: %d messages after %v, looking at %d pages", len(first), time.Since(begun), before)

	var took []time.Duration
	left := 201 - len(first)
	begun = time.Now()
	for left > 0 {
		start := time.Now()
		left -= len(claim(t, b, 10, true))
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	t.Logf("the others: %v in %d claims, fastest %v, median %v, longest %v", time.Since(begun), len(took), took[0], took[len(took)/2], took[len(took)-1])
	for len(claim(t, b, 10, true)) > 0 {
		t.Error("a second message of the key is out")
	}

	publish(t, b, many(20, "late", "")...)
	start := time.Now()
	if ds := claim(t, b, 10, true); len(ds) != 10 {
		t.Fatalf("claimed %d of 20", len(ds))
	}
	t.Logf("behind the parked backlog: %v", time.Since(start))
	// Scans skip dead index entries once no snapshot needs them, which an
	// ANALYZE of autovacuum may put off.
	eventually(t, "a claim of 10 to touch few pages", func() bool {
		n := pagesOfClaim(t, b, 10)
		t.Logf("a claim of 10 touches %d pages", n)
		return n < 500
	})
}

// Many keys of which one is out and the next is due fill the view of a claim;
// what is behind them is found all the same.
func TestManyBusyKeysHideNothing(t *testing.T) {
	t.Parallel()
	b := newQueue(t)
	const keys = 2 * wideScan
	for range 2 {
		msgs := make([]queue.Message, keys)
		for i := range msgs {
			msgs[i] = msg(fmt.Sprint("busy", i), fmt.Sprint("key", i))
		}
		publish(t, b, msgs...)
		claim(t, b, keys/2, true)
		claim(t, b, keys/2, true)
	}
	publish(t, b, many(30, "free", "")...)
	if ds := claim(t, b, 1, true); len(ds) != 1 || ds[0].UUID != "free0" {
		t.Errorf("claimed %v, want free0", uuids(ds))
	}
}

// pagesOfClaim returns how many pages a claim of 10 touches, a measure that
// does not depend on the machine's load.
func pagesOfClaim(t *testing.T, b *backend, scan int) int {
	t.Helper()
	tx, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	exec(t, tx, settings)
	var text string
	var lane *int64
	if scan == wideScan {
		lane = new(int64)
	}
	if err := tx.QueryRow(t.Context(), `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) `+b.sql.claimOrdered,
		1, 10, time.Minute, "6ba7b810-9dad-11d1-80b4-00c04fd430c8", scan, lane).Scan(&text); err != nil {
		t.Fatal(err)
	}
	var plans []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	if err := json.Unmarshal([]byte(text), &plans); err != nil {
		t.Fatal(err)
	}
	return plans[0].Plan.Hit + plans[0].Plan.Read
}

// A transaction that commits late may put a message before one of its key
// that is out. The two must not be out together.
func TestLateCommitKeepsOneOfAKeyOut(t *testing.T) {
	t.Parallel()
	tr := newTransport(t)
	b := tr.b
	if err := b.Register(t.Context(), topic, group); err != nil {
		t.Fatal(err)
	}
	late := begin(t, b)
	insert(t, late, b, msg("m1", "k"))
	publish(t, b, msg("m2", "k"), msg("m3", "k"))
	out := claim(t, b, 10, true)
	commit(t, late)
	if again := claim(t, b, 10, true); len(again) > 0 {
		t.Fatalf("%v is out together with %v", uuids(again), uuids(out))
	}
	got := uuids(out)
	for len(out) > 0 {
		ack(t, b, out...)
		out = claim(t, b, 10, true)
		got = append(got, uuids(out)...)
	}
	if diff := cmp.Diff([]string{"m2", "m1", "m3"}, got); diff != "" {
		t.Errorf("delivered (-want +got):\n%s", diff)
	}
}

// However a lane's oldest goes away, the next must come: by an ack in a
// transaction that stays open for a while, or because somebody deletes it.
func TestNextOfALaneComes(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(*testing.T, *backend, queue.Delivery){
		"ack in a transaction": func(t *testing.T, b *backend, d queue.Delivery) {
			tx := begin(t, b)
			if err := b.AckTx(t.Context(), tx, d.Lease); err != nil {
				t.Fatal(err)
			}
			publish(t, b, msg("while open", "k"))
			if ds := claim(t, b, 10, true); len(ds) > 0 {
				t.Errorf("%v came while the transaction was open", uuids(ds))
			}
			commit(t, tx)
		},
		"message deleted by hand": func(t *testing.T, b *backend, d queue.Delivery) {
			exec(t, b.pool, `DELETE FROM `+b.names.Messages+` WHERE id = $1`, d.ID)
		},
		"ack with an old snapshot, then upkeep": func(t *testing.T, b *backend, d queue.Delivery) {
			tx := begin(t, b)
			exec(t, tx, `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`)
			exec(t, tx, `SELECT 1`)
			publish(t, b, many(5, "after the snapshot ", "k")...)
			claim(t, b, 10, true) // parks them
			exec(t, tx, b.sql.ackOne, d.ID, d.Token)
			commit(t, tx)
			if _, err := b.Clean(t.Context(), time.Hour, 1); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newQueue(t)
			publish(t, b, msg("m1", "k"))
			out := claim(t, b, 10, true)
			if name != "ack with an old snapshot, then upkeep" {
				publish(t, b, many(2, "next ", "k")...)
				claim(t, b, 10, true) // parks them
			}
			remove(t, b, out[0])
			if ds := claim(t, b, 10, true); len(ds) != 1 {
				t.Errorf("claimed %v, want the next one", uuids(ds))
			}
		})
	}
}

// A group that no longer asks for order gets what was parked for its sake.
func TestUnorderedClaimTakesParked(t *testing.T) {
	t.Parallel()
	b := newQueue(t)
	publish(t, b, many(10, "m", "k")...)
	if ds := claim(t, b, 10, true); len(ds) != 1 {
		t.Fatalf("claimed %v, want one", uuids(ds))
	}
	if ds := claim(t, b, 10, false); len(ds) != 9 {
		t.Errorf("claimed %v, want the other nine", uuids(ds))
	}
}

func begin(t testing.TB, b *backend) pgx.Tx {
	t.Helper()
	conn := connect(t, b.pool)
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

func commit(t testing.TB, tx pgx.Tx) {
	t.Helper()
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func insert(t testing.TB, tx pgx.Tx, b *backend, msgs ...queue.Message) {
	t.Helper()
	for _, args := range b.inserts(topic, msgs) {
		exec(t, tx, b.sql.insert, args...)
	}
}
