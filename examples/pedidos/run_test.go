package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// On every backend the demo succeeds, whatever the seed.
func TestRun(t *testing.T) {
	for _, b := range []backend{onMemory, onSQLite, onPostgres, onKafka, onKafkaSQLite} {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			succeeds(t, b)
		})
	}
}

// It does so, too, when an instance is killed in the middle of its work.
func TestKill(t *testing.T) {
	for _, b := range []backend{onSQLite, onPostgres, onKafka} {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			succeeds(t, b, "-kill")
		})
	}
}

func succeeds(t *testing.T, b backend, more ...string) {
	args := b.args(t, more...)
	for seed := 1; seed <= seeds(t); seed++ {
		code, r, fields := result(t, append(args, "-seed", fmt.Sprint(seed)))
		for _, name := range []string{
			"run", "transport", "store", "seed", "published", "deliveries", "effects", "duplicates_ignored", "retries", "dead_letters",
			"discarded", "paused_resumed", "killed", "lost", "doubled", "elapsed_ms", "ok", "scenarios",
		} {
			if _, ok := fields[name]; !ok {
				t.Errorf("seed %d: the object has no field %q", seed, name)
			}
		}
		if code != exitOK || !r.OK || r.Lost != 0 || r.Doubled != 0 || r.Error != "" {
			t.Errorf("seed %d: exit status %d: %+v", seed, code, r)
		}
		// Each order has an invoice, a reservation, a payment and a charge; each
		// bad message is one for both consumers.
		if r.Transport != b.transport || r.Seed != uint64(seed) || r.Effects != 4*orders || r.DeadLetters != 18 || r.Discarded != 6 {
			t.Errorf("seed %d: %+v", seed, r)
		}
		if killed := len(more); r.Killed != killed {
			t.Errorf("seed %d: %d instances were killed, want %d", seed, r.Killed, killed)
		}
		if b.transport == "kafka" {
			deleteTopics(t, r.Run)
		}
		t.Logf("seed %d: published %d, deliveries %d, duplicates ignored %d, retries %d, killed %d, lost %d, doubled %d, %d ms",
			seed, r.Published, r.Deliveries, r.DuplicatesIgnored, r.Retries, r.Killed, r.Lost, r.Doubled, r.ElapsedMS)
	}
}

// For people there is a table, and no file is left behind. The configuration
// that lies here serves.
func TestTable(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	var stdout, stderr output
	if code := run(t.Context(), onSQLite.args(t, "-n", "10", "-config", "idem.yaml"), &stdout, &stderr); code != exitOK {
		t.Errorf("exit status %d", code)
	}
	out := stdout.String()
	for _, line := range []string{"goes down (503)", "SCENARIO", "✓ a bug in the stock handler", "✓ lost 0, doubled 0"} {
		if !strings.Contains(out, line) {
			t.Errorf("no line says %q", line)
		}
	}
	if strings.Contains(out, "✗") || stderr.String() != "" || t.Failed() {
		t.Errorf("stdout:\n%s\nstderr:\n%s", out, stderr.String())
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
