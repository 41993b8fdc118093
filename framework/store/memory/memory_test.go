package memory_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/memory"
)

func claim(key string) idem.Claim {
	return idem.Claim{Consumer: "shop", Key: key, Token: "t1", Retention: time.Hour}
}

func class(err error) idem.Class { return idem.Classifier{}.Classify(err) }

func native(tx idem.Tx) *memory.Tx { return tx.Native().(*memory.Tx) }

func TestTable(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Config{})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.Do(t.Context(), func(tx idem.Tx) error {
		n := native(tx)
		n.Set("a", "1")
		n.Set("b", "1")
		n.Delete("b")
		n.Add("sum", 2)
		n.Add("sum", 3)
		if v, ok := n.Get("a"); v != "1" || !ok {
			t.Errorf("own write reads %q, %v", v, ok)
		}
		if _, ok := n.Get("b"); ok {
			t.Error("a deleted row is there")
		}
		if n.Sum("sum") != 5 {
			t.Errorf("sum is %d", n.Sum("sum"))
		}
		if _, ok := s.Get("a"); ok || s.Sum("sum") != 0 {
			t.Error("others see what is not committed")
		}
		return nil
	}))
	failed := errors.New("failed")
	if err := s.Do(t.Context(), func(tx idem.Tx) error {
		native(tx).Set("c", "1")
		native(tx).Delete("a")
		native(tx).Add("sum", 1)
		return failed
	}); err != failed {
		t.Fatal(err)
	}
	if !maps.Equal(s.Rows(), map[string]string{"a": "1"}) || s.Sum("sum") != 5 {
		t.Fatalf("rows %v, sum %d", s.Rows(), s.Sum("sum"))
	}
	must(s.Do(t.Context(), func(tx idem.Tx) error { native(tx).Delete("a"); return nil }))
	if len(s.Rows()) != 0 {
		t.Fatalf("rows %v", s.Rows())
	}
}

func TestUseAfterTheEnd(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Config{})
	var kept idem.Tx
	if err := s.Do(t.Context(), func(tx idem.Tx) error { kept = tx; return nil }); err != nil {
		t.Fatal(err)
	}
	_, errClaim := kept.Claim(t.Context(), claim("k"))
	_, errPark := kept.Park(t.Context(), idem.DeadLetter{ID: "d"})
	for what, err := range map[string]error{
		"claim": errClaim, "park": errPark,
		"save": kept.Save(t.Context(), claim("k"), idem.Update{}), "emit": kept.Emit(t.Context(), idem.Outgoing{}),
	} {
		if class(err) != idem.ClassBug {
			t.Errorf("%s after the end: %v", what, err)
		}
	}
	for what, f := range map[string]func(){
		"set": func() { native(kept).Set("a", "b") }, "delete": func() { native(kept).Delete("a") },
		"get": func() { native(kept).Get("a") }, "add": func() { native(kept).Add("a", 1) }, "sum": func() { native(kept).Sum("a") },
	} {
		if r := recovered(f); !strings.Contains(r, "has ended") {
			t.Errorf("%s after the end: recovered %q", what, r)
		}
	}
}

func recovered(f func()) (text string) {
	defer func() { text, _ = recover().(string) }()
	f()
	return ""
}

// Two messages that claim two keys in opposite order do not hang.
func TestDeadlockEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(memory.Config{})
		start := time.Now()
		both := make(chan struct{})
		results := make(chan error)
		for _, order := range [][2]string{{"a", "b"}, {"b", "a"}} {
			go func() {
				results <- s.Do(context.Background(), func(tx idem.Tx) error {
					if _, err := tx.Claim(t.Context(), claim(order[0])); err != nil {
						return err
					}
					select {
					case both <- struct{}{}:
					case <-both:
					}
					_, err := tx.Claim(t.Context(), claim(order[1]))
					return err
				})
			}()
		}
		inFlight := 0
		for range 2 {
			if err := <-results; errors.Is(err, idem.ErrInFlight) {
				inFlight++
			} else if err != nil {
				t.Error(err)
			}
		}
		if inFlight == 0 || time.Since(start) != 5*time.Second {
			t.Errorf("%d ended with ErrInFlight after %v, want at least one after the default of 5s", inFlight, time.Since(start))
		}
	})
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at               memory.Point
		unknown, applied bool
	}{
		{memory.AtBegin, false, false},
		{memory.AtClaim, false, false},
		{memory.BeforeCommit, false, false},
		{memory.LostCommit, true, false},
		{memory.LostReply, true, true},
	} {
		f := &faults{}
		s := memory.New(memory.Config{Fault: f.at})
		f.arm(c.at)
		err := s.Do(t.Context(), func(tx idem.Tx) error {
			if _, err := tx.Claim(t.Context(), claim("k")); err != nil {
				return err
			}
			native(tx).Set("k", "done")
			return nil
		})
		_, applied := s.Get("k")
		if !errors.Is(err, idem.ErrStore) || !errors.Is(err, errBroken) || errors.Is(err, idem.ErrUnknownCommit) != c.unknown || applied != c.applied {
			t.Errorf("%s: applied %v, error %v", c.at, applied, err)
		}
		if err := s.Do(t.Context(), func(tx idem.Tx) error { _, err := tx.Claim(t.Context(), claim("k")); return err }); err != nil {
			t.Errorf("%s: the next transaction failed: %v", c.at, err)
		}
	}
}

// Every call says ErrStore when the database is down.
func TestCallsFail(t *testing.T) {
	t.Parallel()
	down := func(memory.Point) error { return errBroken }
	closed := memory.New(memory.Config{})
	_ = closed.Close()
	for what, s := range map[string]*memory.Store{"down": memory.New(memory.Config{Fault: down}), "closed": closed} {
		ctx := t.Context()
		_, errLease := s.LeaseOutbox(ctx, 1, time.Second)
		_, _, errDepth := s.OutboxDepth(ctx)
		_, errGet := s.GetDeadLetter(ctx, "x")
		_, errList := s.ListDeadLetters(ctx, idem.DeadLetterQuery{})
		_, _, errCount := s.CountDeadLetters(ctx)
		_, errSweep := s.Sweep(ctx, 10)
		for call, err := range map[string]error{
			"do":      s.Do(ctx, func(idem.Tx) error { return nil }),
			"migrate": s.Migrate(ctx), "ping": s.Ping(ctx),
			"published": s.Published(ctx), "postponed": s.Postponed(ctx, 0),
			"lease": errLease, "depth": errDepth, "get": errGet, "list": errList, "count": errCount, "sweep": errSweep,
		} {
			if !errors.Is(err, idem.ErrStore) || errors.Is(err, idem.ErrNotFound) {
				t.Errorf("%s: %s returned %v, want ErrStore", what, call, err)
			}
		}
	}
}

func TestMisuse(t *testing.T) {
	t.Parallel()
	s, other := memory.New(memory.Config{}), memory.New(memory.Config{})
	if s.Database() == other.Database() {
		t.Error("two stores have one identity")
	}
	if named := memory.New(memory.Config{Name: "n"}); named.Database() != "n" {
		t.Errorf("Database() is %q", named.Database())
	}
	err := s.Do(t.Context(), func(tx idem.Tx) error {
		if err := tx.Save(t.Context(), claim("never claimed"), idem.Update{Status: idem.StatusDone}); err == nil {
			t.Error("Save of a key that was not claimed succeeded")
		}
		_, err := other.MoveDeadLetter(t.Context(), tx, "x", idem.DeadLetterReplayed)
		return err
	})
	if class(err) != idem.ClassBug {
		t.Errorf("a transaction of another store: %v", err)
	}
	if _, err := s.ListDeadLetters(t.Context(), idem.DeadLetterQuery{After: "no such id"}); !errors.Is(err, idem.ErrNotFound) {
		t.Errorf("a page after an unknown id: %v", err)
	}
}

// What callers hand in and get back is theirs to change.
func TestBytesAreCopied(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Config{})
	payload, value := []byte("payload"), []byte("value")
	err := s.Do(t.Context(), func(tx idem.Tx) error {
		_, err := tx.Claim(t.Context(), claim("k"))
		_, errPark := tx.Park(t.Context(), idem.DeadLetter{ID: "d", Payload: payload})
		return errors.Join(err, errPark,
			tx.Save(t.Context(), claim("k"), idem.Update{Status: idem.StatusDone, Result: payload}),
			tx.Emit(t.Context(), idem.Outgoing{ID: "o", Payload: payload, Headers: []idem.Header{{Name: "h", Value: value}}}))
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second round changes what the first one got back
		copy(payload, "XXXXXXX")
		copy(value, "XXXXX")
		rows, _ := s.LeaseOutbox(t.Context(), 1, 0)
		d, _ := s.GetDeadLetter(t.Context(), "d")
		var r idem.Record
		_ = s.Do(t.Context(), func(tx idem.Tx) (err error) { r, err = tx.Claim(t.Context(), claim("k")); return err })
		if string(rows[0].Payload) != "payload" || string(rows[0].Headers[0].Value) != "value" || string(d.Payload) != "payload" || string(r.Result) != "payload" {
			t.Fatalf("stored bytes changed: %q %q %q", rows[0].Payload, d.Payload, r.Result)
		}
		payload, value = rows[0].Payload, rows[0].Headers[0].Value
		copy(d.Payload, "XXXXXXX")
		copy(r.Result, "XXXXXXX")
	}
}

func TestTxFrom(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Config{})
	e, err := idem.NewEngine(s, nil, idem.Classifier{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	op := idem.Operation{Name: "shop", Topic: "orders", Key: idem.KeyRecipe{Parts: []idem.KeyPart{{Header: "id"}}}}
	c, err := idem.NewConsumer(e, op, idem.HandlerFunc[map[string]any](func(ctx context.Context, _ idem.Message[map[string]any]) error {
		memory.TxFrom(ctx).Add("runs", 1)
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		msg := message.NewMessage("m", []byte("{}"))
		msg.Metadata.Set("id", "k")
		if err := c.Process(msg); err != nil {
			t.Fatal(err)
		}
	}
	if s.Sum("runs") != 1 {
		t.Fatalf("%d effects of one message delivered three times", s.Sum("runs"))
	}
	if r := recovered(func() { memory.TxFrom(t.Context()) }); !strings.Contains(r, "outside a handler") {
		t.Fatalf("recovered %q", r)
	}
}
