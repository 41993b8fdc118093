//go:build linux

package main

import (
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// What a user waits for and what it costs: the binary with 200 operations. It
// runs a few times, so that the numbers are not those of a cold disk.
func BenchmarkBinary200(b *testing.B) {
	binary := filepath.Join(b.TempDir(), "idemgen")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	contract := bigContract(200, nil)
	var rss int64
	var generate, check time.Duration
	runs := 0
	for b.Loop() {
		config := filepath.Join(newProject(b, contract), "idemgen.yaml")
		rss = max(rss, measure(b, &generate, binary, "generate", "-q", "-config", config))
		rss = max(rss, measure(b, &check, binary, "check", "-config", config))
		runs++
	}
	b.ReportMetric(float64(generate.Milliseconds())/float64(runs), "ms/generate")
	b.ReportMetric(float64(check.Milliseconds())/float64(runs), "ms/check")
	b.ReportMetric(float64(rss)/1024, "MB-peak-RSS")
}

// measure runs a command, adds what it took and returns its peak memory in KiB.
func measure(b *testing.B, sum *time.Duration, name string, args ...string) int64 {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), name, args...)
	start := time.Now()
	out, err := cmd.CombinedOutput()
	*sum += time.Since(start)
	if err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
}
