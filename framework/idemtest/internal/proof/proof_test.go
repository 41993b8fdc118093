package proof

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/idemsql"
	"github.com/idem-go/idem/framework/idemtest"
	"github.com/idem-go/idem/framework/idemtest/internal/toy"
	"github.com/idem-go/idem/internal/mutate"
	"github.com/idem-go/idem/internal/testenv"
	"github.com/idem-go/idem/wiring"
	"github.com/idem-go/idem/wiring/postgres"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// onPostgres is a world on PostgreSQL.
func onPostgres(t *testing.T) *idemtest.World {
	t.Helper()
	dsn := testenv.Postgres(t)
	w := idemtest.Open(t, func(ctx context.Context) (wiring.Parts, idemsql.DB, func(), error) {
		cfg := idem.Config{Transport: "postgres"}
		cfg.Postgres.DSN = idem.DSN(dsn)
		p, closeAll, err := postgres.Build(ctx, cfg, wiring.Options{})
		if err != nil {
			return wiring.Parts{}, nil, nil, err
		}
		return p.Parts, p.SQL, closeAll, nil
	})
	toy.CreateTables(t, w)
	return w
}

func asking(c toy.Charge) idem.External[toy.Order, int] { return toy.AskingCharge{Charge: c} }

// TestOwn and TestExternal are for TestBrokenEnginesAreCaught.
func TestOwn(t *testing.T) {
	onlyMutated(t)
	idemtest.Gold(t, toy.NewWorld, toy.Billing(), toy.BillFixture, toy.BillHandler)
}

func TestExternal(t *testing.T) {
	onlyMutated(t)
	idemtest.GoldExternal(t, toy.NewWorld, toy.Billing(), toy.ChargeFixture, asking)
}

func onlyMutated(t *testing.T) {
	t.Helper()
	if name, _, _ := strings.Cut(mutate.Env(mutate.Mutation{}), "="); os.Getenv(name) == "" {
		t.Skip("a part of TestBrokenEnginesAreCaught")
	}
}

func TestOwnOnPostgres(t *testing.T) {
	idemtest.Gold(t, onPostgres, toy.Billing(), toy.BillFixture, toy.BillHandler)
}

func TestExternalOnPostgres(t *testing.T) {
	idemtest.GoldExternal(t, onPostgres, toy.Billing(), toy.ChargeFixture, asking)
}

const envOutside = "IDEMTEST_OUTSIDE"

// TestOutside is the gold test of a handler that writes outside its unit of work.
func TestOutside(t *testing.T) {
	if os.Getenv(envOutside) == "" {
		t.Skip("a part of TestWritesOutsideAreCaughtOnPostgres")
	}
	idemtest.Gold(t, onPostgres, toy.Billing(), toy.BillFixture, func(b toy.Bill) idem.Handler[toy.Order] {
		return idem.HandlerFunc[toy.Order](func(_ context.Context, msg idem.Message[toy.Order]) error {
			return b.Handle(context.Background(), msg)
		})
	})
}

// PostgreSQL lets a write outside the transaction pass, so that only what is
// rolled back tells.
func TestWritesOutsideAreCaughtOnPostgres(t *testing.T) {
	testenv.Postgres(t) // skips or fails without a server
	failed, out := play(t, os.Args[0], "TestOutside", envOutside+"=1", "retry|panic|permanent|replay")
	if want := []string{"retry", "panic", "permanent", "replay"}; !slices.Equal(failed, want) {
		t.Errorf("failed: %v, want %v", failed, want)
	}
	const says = `before the second run the effect is there once, it should not be there yet(?s:.*)` +
		`the handler wrote outside its unit of work, with a context that is not its own: "INSERT INTO invoices`
	if !regexp.MustCompile(says).Match(out) {
		t.Errorf("no failure says %q", says)
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}

// play runs subtests of a gold test in a process of their own and returns those that
// failed.
func play(t *testing.T, binary, test, env, subtests string) (failed []string, out []byte) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, "-test.run=^"+test+"$/("+subtests+")", "-test.v", "-test.timeout=2m")
	cmd.Env = append(os.Environ(), env)
	out, _ = cmd.CombinedOutput()
	for _, m := range regexp.MustCompile(`(?m)^    --- FAIL: `+test+`/(\S+)`).FindAllStringSubmatch(string(out), -1) {
		failed = append(failed, m[1])
	}
	return failed, out
}

// Every guard that is taken out of the engine is missed by the subtests that
// are about it.
func TestBrokenEnginesAreCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the library")
	}
	binary := filepath.Join(t.TempDir(), "mutated.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay="+mutate.Engine(t), "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, test := range []string{"TestOwn", "TestExternal"} { // or whatever fails may fail by itself
		if failed, out := play(t, binary, test, mutate.Env(mutate.Mutation{Name: "none"}), ""); len(failed) > 0 || !strings.Contains(string(out), "\nPASS") {
			t.Fatalf("%s fails without a mutation:\n%s", test, out)
		}
	}
	for _, m := range mutate.Mutations() {
		for test, want := range map[string][]string{"TestOwn": m.Own, "TestExternal": m.External} {
			if len(want) == 0 {
				continue
			}
			t.Run(m.Name+"/"+test, func(t *testing.T) {
				t.Parallel()
				failed, out := play(t, binary, test, mutate.Env(m), strings.Join(want, "|"))
				for _, name := range want {
					if !slices.Contains(failed, name) {
						t.Errorf("%s: subtest %s did not notice", m.What, name)
					}
				}
				if t.Failed() {
					t.Logf("failed: %v\n%s", failed, out)
				} else {
					t.Logf("%s: noticed by %v", m.What, failed)
				}
			})
		}
	}
}
