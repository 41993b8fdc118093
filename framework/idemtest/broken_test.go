package idemtest_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/idemtest"
	"github.com/idem-go/idem/framework/idemtest/internal/toy"
)

// broken is a handler, an operation or a fixture with one mistake.
type broken struct {
	name string
	gold func(*testing.T)
	// caught are subtests that must fail; with only, no other may.
	caught []string
	only   bool
	// says is in the output, as a regular expression.
	says string
}

// own is the gold test of a handler that is a function of a correct one.
func own(change func(*idem.Operation, *idemtest.Fixture[toy.Bill]), handle func(toy.Bill, context.Context, idem.Message[toy.Order]) error) func(*testing.T) {
	return func(t *testing.T) {
		op := toy.Billing()
		change(&op, new(idemtest.Fixture[toy.Bill]))
		idemtest.Gold(t, toy.NewWorld, op, func(t *testing.T, w *idemtest.World) idemtest.Fixture[toy.Bill] {
			f := toy.BillFixture(t, w)
			change(new(idem.Operation), &f)
			return f
		}, func(b toy.Bill) idem.Handler[toy.Order] {
			return idem.HandlerFunc[toy.Order](func(ctx context.Context, msg idem.Message[toy.Order]) error { return handle(b, ctx, msg) })
		})
	}
}

func asIs(*idem.Operation, *idemtest.Fixture[toy.Bill]) {}

// handler is own with a mistake of the handler.
func handler(handle func(toy.Bill, context.Context, idem.Message[toy.Order]) error) func(*testing.T) {
	return own(asIs, handle)
}

// external is the gold test of an external handler.
func external(effect bool, handler func(toy.Charge) idem.External[toy.Order, int]) func(*testing.T) {
	return func(t *testing.T) {
		idemtest.GoldExternal(t, toy.NewWorld, toy.Billing(), func(t *testing.T, w *idemtest.World) idemtest.Fixture[toy.Charge] {
			f := toy.ChargeFixture(t, w)
			if effect {
				f.Effect = toy.Invoices(w)
			}
			return f
		}, handler)
	}
}

// lyingCharge says of every call that it had no effect.
type lyingCharge struct{ toy.Charge }

func (lyingCharge) Reconcile(context.Context, idem.Message[toy.Order]) (int, idem.CallOutcome, error) {
	return 0, idem.CallNotApplied, nil
}

// forgetfulCharge knows of every call, and does not write what it found.
type forgetfulCharge struct{ toy.AskingCharge }

func (c forgetfulCharge) Apply(ctx context.Context, msg idem.Message[toy.Order], receipt int) error {
	_ = c.Charge.Apply(ctx, msg, receipt)
	return nil
}

// lateCharge calls the third party in the transaction.
type lateCharge struct{ toy.Charge }

func (lateCharge) Call(context.Context, idem.Message[toy.Order]) (int, error) { return 0, nil }

func (c lateCharge) Apply(ctx context.Context, msg idem.Message[toy.Order], _ int) error {
	return c.Charge.Apply(ctx, msg, c.Gateway.Charge(msg.Key, msg.Payload.ID))
}

func mistakes() []broken {
	return []broken{
		{
			name: "the write is outside the transaction",
			gold: handler(func(b toy.Bill, _ context.Context, msg idem.Message[toy.Order]) error {
				return b.Handle(context.Background(), msg)
			}),
			caught: []string{"duplicate", "race", "retry", "panic", "permanent", "replay", "lostack"},
			says:   `outside the handler's unit of work.*hand the handler's own ctx`,
		},
		{
			name: "an error of the database is swallowed",
			gold: handler(func(b toy.Bill, ctx context.Context, msg idem.Message[toy.Order]) error {
				_ = b.Handle(ctx, msg)
				return nil
			}),
			caught: []string{"database"}, only: true,
			says: `the effect is not there, it should be there once(?s:.*)an error of the database is not returned`,
		},
		{
			name: "the key is the message id",
			gold: own(func(op *idem.Operation, _ *idemtest.Fixture[toy.Bill]) {
				op.Key, op.OnMissingKey = idem.KeyFrom(idem.FromHeader("no-such-header")), idem.MissingDerives
			}, toy.Bill.Handle),
			caught: []string{"duplicate", "race", "expiry"},
			says:   `the effect is there twice, it should be there once(?s:.*)the key is not the same in every copy`,
		},
		{
			name: "the write is made by a goroutine nobody waits for",
			gold: handler(func(b toy.Bill, ctx context.Context, msg idem.Message[toy.Order]) error {
				go func() { _ = b.Handle(ctx, msg) }()
				return nil
			}),
			caught: []string{"duplicate", "race", "lostack", "expiry", "replay"},
			says:   `a goroutine it had started still wanted to run statements`,
		},
		{
			name: "the write is made by a goroutine of its own",
			gold: handler(func(b toy.Bill, _ context.Context, msg idem.Message[toy.Order]) error {
				go func() { _ = b.Handle(context.Background(), msg) }()
				return nil
			}),
			caught: []string{"duplicate", "race", "retry", "panic", "replay", "lostack", "expiry"},
			says:   `a goroutine it had started still wanted to run statements`,
		},
		{
			name: "the write is outside the transaction, in a goroutine that is waited for",
			gold: handler(func(b toy.Bill, _ context.Context, msg idem.Message[toy.Order]) error {
				wait := make(chan error, 1)
				go func() { wait <- b.Handle(context.Background(), msg) }()
				return <-wait
			}),
			caught: []string{"duplicate", "retry"},
			says:   `outside the handler's unit of work`,
		},
		{
			name: "the handler remembers in memory what it has done",
			gold: func(t *testing.T) {
				var seen sync.Map
				handler(func(b toy.Bill, ctx context.Context, msg idem.Message[toy.Order]) error {
					if _, twice := seen.LoadOrStore(world{b.DB, msg.Key}, true); twice {
						return nil
					}
					return b.Handle(ctx, msg)
				})(t)
			},
			caught: []string{"retry", "panic", "replay", "database"}, only: true,
			says: `remembers outside the database`,
		},
		{
			name: "the handler works now and then",
			gold: handler(func(b toy.Bill, ctx context.Context, msg idem.Message[toy.Order]) error {
				if rand.IntN(2) == 0 {
					return nil
				}
				return b.Handle(ctx, msg)
			}),
			// Which of them fail is chance; that all of them pass is none worth mentioning.
			says: `the effect is not there`,
		},
		{
			name: "the handler does everything twice",
			gold: handler(func(b toy.Bill, ctx context.Context, msg idem.Message[toy.Order]) error {
				return errors.Join(b.Handle(ctx, msg), b.Handle(ctx, msg))
			}),
			caught: []string{"duplicate", "race", "retry", "panic", "database", "replay", "keyreuse", "lostack", "expiry"},
			says:   `the effect is there twice(?s:.*)more than once in one run`,
		},
		{
			name: "the handler is not written",
			gold: handler(func(toy.Bill, context.Context, idem.Message[toy.Order]) error { return idem.ErrNotImplemented }),
			caught: []string{
				"duplicate", "race", "retry", "panic", "permanent", "replay", "keyreuse", "lostack", "expiry",
			},
			says: `the handler is not written yet`,
		},
		{
			name: "the probe is not written",
			gold: own(func(_ *idem.Operation, f *idemtest.Fixture[toy.Bill]) {
				f.Effect = func(context.Context, idemtest.Message) (int, error) { return 0, errors.New("write the probe") }
			}, toy.Bill.Handle),
			caught: []string{"duplicate"},
			says:   `the fixture's Effect failed: write the probe`,
		},
		{
			name: "the probe counts everybody's effects",
			gold: func(t *testing.T) {
				idemtest.Gold(t, toy.NewWorld, toy.Billing(), func(t *testing.T, w *idemtest.World) idemtest.Fixture[toy.Bill] {
					f := toy.BillFixture(t, w)
					f.Effect = func(ctx context.Context, _ idemtest.Message) (n int, err error) {
						err = w.DB().QueryRow(ctx, `SELECT count(*) FROM invoices`).Scan(&n)
						return n, err
					}
					return f
				}, toy.BillHandler)
			},
			caught: []string{"duplicate"}, only: true,
			says: `the probe counts what belongs to other messages`,
		},
		{
			name: "all samples have one key",
			gold: own(func(_ *idem.Operation, f *idemtest.Fixture[toy.Bill]) {
				f.Sample = func(int) idemtest.Message { return toy.Sample(0) }
			}, toy.Bill.Handle),
			caught: []string{"duplicate"},
			says:   `Sample\(0\) and Sample\(1\) have the same key`,
		},
		{
			name: "a reuse that changes the key",
			gold: own(func(_ *idem.Operation, f *idemtest.Fixture[toy.Bill]) {
				f.Reuse = func(idemtest.Message) idemtest.Message { return toy.Sample(7) }
			}, toy.Bill.Handle),
			caught: []string{"keyreuse"}, only: true,
			says: `Reuse changes the key from "o-0" to "o-7"`,
		},
		{
			name: "a fingerprint that misses the change",
			gold: own(func(op *idem.Operation, _ *idemtest.Fixture[toy.Bill]) {
				op.Fingerprint.Pointers = []string{"/note"}
			}, toy.Bill.Handle),
			caught: []string{"keyreuse"}, only: true,
			says: `changes nothing that the operation's fingerprint compares`,
		},
		{
			name: "the handler judges what the contract should",
			gold: func(t *testing.T) {
				idemtest.Gold(t, toy.NewWorld, toy.Billing(), toy.BillFixture, func(b toy.Bill) idem.Handler[[]byte] {
					return idem.HandlerFunc[[]byte](func(ctx context.Context, msg idem.Message[[]byte]) error { return errors.New("no") })
				})
			},
			caught: []string{"duplicate"},
			says:   `the handler failed on a-1, a valid message.*class transient: no`,
		},
		{
			name:   "external: the call is made in the transaction",
			gold:   external(false, func(c toy.Charge) idem.External[toy.Order, int] { return lateCharge{c} }),
			caught: []string{"retry", "panic"},
			says:   `the effect is there twice`,
		},
		{
			name:   "external: Reconcile lies",
			gold:   external(false, func(c toy.Charge) idem.External[toy.Order, int] { return lyingCharge{c} }),
			caught: []string{"lostresult"}, only: true,
			says: `Reconcile said CallNotApplied after the call had been made`,
		},
		{
			name:   "external: Apply swallows the database's error",
			gold:   external(true, func(c toy.Charge) idem.External[toy.Order, int] { return forgetfulCharge{toy.AskingCharge{Charge: c}} }),
			caught: []string{"database"}, only: true,
			says: `an error of the database is not returned`,
		},
	}
}

const envMistake = "IDEMTEST_MISTAKE"

// TestMistake is the gold test of one mistake, for TestMistakesAreCaught.
func TestMistake(t *testing.T) {
	name := os.Getenv(envMistake)
	if name == "" {
		t.Skip("a part of TestMistakesAreCaught")
	}
	for _, m := range mistakes() {
		if m.name == name {
			m.gold(t)
		}
	}
}

// A test that cannot fail proves nothing: every mistake fails the gold test, in
// the subtests that are about it, with words that help.
func TestMistakesAreCaught(t *testing.T) {
	for _, m := range mistakes() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			pattern := "^TestMistake$"
			if !m.only && len(m.caught) > 0 || slow() && m.only { // the others are nobody's concern
				pattern += "/^(" + strings.Join(m.caught, "|") + ")$"
			}
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run="+pattern, "-test.v", "-test.timeout=2m")
			cmd.Env = append(os.Environ(), envMistake+"="+m.name)
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatalf("the gold test passed:\n%s", out)
			}
			failed := failures(string(out))
			for _, name := range m.caught {
				if !slices.Contains(failed, name) {
					t.Errorf("subtest %s did not fail", name)
				}
			}
			if m.only && len(failed) != len(m.caught) {
				t.Errorf("failed %v, want no more than %v", failed, m.caught)
			}
			if len(failed) == 0 || !regexp.MustCompile(m.says).Match(out) {
				t.Errorf("subtests %v failed, and none of them says %q", failed, m.says)
			}
			if t.Failed() || testing.Verbose() {
				t.Logf("failed: %s\n%s", strings.Join(failed, " "), out)
			}
		})
	}
}

// slow reports whether this is the race detector's build, in which everything
// takes five times as long.
func slow() bool {
	info, _ := debug.ReadBuildInfo()
	return info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// failures are the subtests that failed.
func failures(out string) (names []string) {
	for _, m := range regexp.MustCompile(`(?m)^    --- FAIL: TestMistake/(\S+)`).FindAllStringSubmatch(out, -1) {
		names = append(names, m[1])
	}
	return names
}

// world tells the memory of one process from another's.
type world struct {
	db  any
	key string
}
