package sqldb_test

import (
	"bytes"
	"database/sql"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/sqldb"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	_, err := sqldb.New(sqldb.Config{TablePrefix: "x; DROP TABLE y", ClaimWait: -1, OutboxRetention: -1})
	if err == nil {
		t.Fatal("accepted a configuration of mistakes")
	}
	for _, field := range []string{"DB", "Identity", "TablePrefix", "ClaimWait", "OutboxRetention"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("the error does not name %s: %v", field, err)
		}
	}
	for prefix, ok := range map[string]bool{"a": true, "_x9_": true, "9x": false, "a-b": false, `a"`: false, "ä": false, strings.Repeat("a", 40): true, strings.Repeat("a", 41): false} {
		if _, err := sqldb.New(sqldb.Config{DB: new(sql.DB), Identity: "x", TablePrefix: prefix}); (err == nil) != ok {
			t.Errorf("prefix %q: %v", prefix, err)
		}
	}
}

// Two applications can share a database.
func TestTablePrefix(t *testing.T) {
	t.Parallel()
	s, db := fresh(t)
	other, err := sqldb.New(sqldb.Config{DB: db, Identity: "x", TablePrefix: "other_"})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, store := range []idem.Store{s, other} {
		err := store.Do(t.Context(), func(tx idem.Tx) error {
			if r, err := tx.Claim(t.Context(), claim("k")); err != nil || r.Status != idem.StatusNew {
				t.Errorf("claim found %q, %v", r.Status, err)
			}
			return tx.Save(t.Context(), claim("k"), idem.Update{Status: idem.StatusDone})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := count(t, db, "SELECT count(*) FROM other_inbox"); n != 1 {
		t.Fatalf("%d rows in other_inbox", n)
	}
}

// An older program must start while a newer one has already migrated.
func TestNewerTablesAreLeftAlone(t *testing.T) {
	t.Parallel()
	s, db := fresh(t)
	exec(t, db, "INSERT INTO idem_schema VALUES (9999, 'future', 0)")
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestMigrationIsWholeOrNothing(t *testing.T) {
	t.Parallel()
	s, db := fresh(t)
	exec(t, db, "DROP TABLE idem_inbox")
	exec(t, db, "DELETE FROM idem_schema")
	if err := s.Migrate(t.Context()); err == nil { // idem_outbox is in its way
		t.Fatal("migrated over existing tables")
	}
	if n := count(t, db, "SELECT (SELECT count(*) FROM sqlite_master WHERE name = 'idem_inbox') + (SELECT count(*) FROM idem_schema)"); n != 0 {
		t.Fatal("a failed migration left something behind")
	}
}

// Polls and clean-up must not read whole tables.
func TestQueryPlans(t *testing.T) {
	t.Parallel()
	s, db := fresh(t)
	leasable, lease, emit, sweepInbox, sweepOutbox, depth, countLetters := s.Statements()
	for text, index := range map[string][]string{
		leasable:     {"idem_outbox_due", "idem_outbox_key"},
		lease:        {"INTEGER PRIMARY KEY", "idem_outbox_key"},
		emit:         {"idem_outbox_key"},
		sweepInbox:   {"idem_inbox_expiry"},
		sweepOutbox:  {"idem_outbox_published"},
		depth:        {"idem_outbox_due"},
		countLetters: {"idem_dead_letters_parked"},
	} {
		plan := plan(t, db, text)
		for _, name := range index {
			if !strings.Contains(plan, name) {
				t.Errorf("no use of %s in\n%s\n%s", name, text, plan)
			}
		}
		for line := range strings.Lines(plan) {
			scan := strings.HasPrefix(line, "SCAN") && !strings.Contains(line, "COVERING INDEX") && !strings.Contains(line, "json_each")
			if scan || strings.Contains(line, "TEMP B-TREE") {
				t.Errorf("%s reads or sorts a whole table: %s", text, line)
			}
		}
	}
}

func plan(t *testing.T, db *sql.DB, text string) string {
	t.Helper()
	args := make([]any, 0, 8)
	for i := 1; strings.Contains(text, "?"+string(rune('0'+i))); i++ {
		args = append(args, 1)
	}
	rows, err := db.Query("EXPLAIN QUERY PLAN "+text, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var b strings.Builder
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		b.WriteString(detail + "\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// With a retention the id of a published row stays taken, until Sweep.
func TestOutboxRetention(t *testing.T) {
	t.Parallel()
	_, db := fresh(t)
	s, err := sqldb.New(sqldb.Config{DB: db, Identity: "x", OutboxRetention: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	emit := func() {
		t.Helper()
		if err := s.Do(t.Context(), func(tx idem.Tx) error {
			return tx.Emit(t.Context(), idem.Outgoing{ID: "o", Topic: "orders", Key: []byte("k"), Payload: []byte("p")})
		}); err != nil {
			t.Fatal(err)
		}
	}
	lease := func() []idem.OutboxRow {
		t.Helper()
		rows, err := s.LeaseOutbox(t.Context(), 10, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	emit()
	published := time.Now()
	if err := s.Published(t.Context(), lease()...); err != nil {
		t.Fatal(err)
	}
	emit()
	if rows := lease(); len(rows) != 0 && time.Since(published) < 300*time.Millisecond {
		t.Fatalf("published again: %v", rows)
	}
	if n, _, err := s.OutboxDepth(t.Context()); n != 0 || err != nil {
		t.Fatalf("depth %d, %v", n, err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		n, err := s.Sweep(t.Context(), 10)
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("swept %d, %v", n, err)
		}
		if n == 1 {
			break
		}
	}
	if took := time.Since(published); took < 290*time.Millisecond {
		t.Errorf("swept after %v", took)
	}
	emit()
	if rows := lease(); len(rows) != 1 {
		t.Errorf("leased %v after the id was forgotten", rows)
	}
}

// More than one batch in one call.
func TestSweepOfManyBatches(t *testing.T) {
	t.Parallel()
	s, db := fresh(t)
	fillInbox(t, db, 1234)
	for _, want := range []int{1100, 134, 0} {
		if n, err := s.Sweep(t.Context(), 1100); n != want || err != nil {
			t.Fatalf("swept %d, %v; want %d", n, err, want)
		}
	}
}

func fillInbox(t testing.TB, db *sql.DB, n int) {
	t.Helper()
	exec(t, db, `INSERT INTO idem_inbox (consumer, key, status, fingerprint, token, attempts, last_error, message_id, source, first_seen, updated_at, expires_at)
		WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r WHERE n < ?)
		SELECT 'shop', randomblob(16), 'done', hex(randomblob(32)), hex(randomblob(16)), 1, '', hex(randomblob(16)), 'orders@0/' || n, n, n, n FROM r`, n)
}

func FuzzHeaders(f *testing.F) {
	f.Add("a", []byte("x"), "b", []byte{}, []byte{1, 'a', 0})
	f.Add("", []byte(nil), "\xff", []byte{0, 255}, []byte{255})
	f.Fuzz(func(t *testing.T, n1 string, v1 []byte, n2 string, v2 []byte, junk []byte) {
		want := []idem.Header{{Name: n1, Value: v1}, {Name: n2, Value: v2}, {Name: n1}}
		packed := sqldb.EncodeHeaders(want)
		got, err := sqldb.DecodeHeaders(packed)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q came back as %q, %v", want, got, err)
		}
		for i := range packed { // a damaged column is an error or other headers, never a panic
			_, _ = sqldb.DecodeHeaders(packed[:i])
		}
		if hs, err := sqldb.DecodeHeaders(junk); err == nil && len(hs) > 0 && !bytes.Contains(junk, []byte(hs[0].Name)) {
			t.Fatalf("%q decodes to %q", junk, hs)
		}
	})
}
