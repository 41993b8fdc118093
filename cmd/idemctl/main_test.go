package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestUsage(t *testing.T) {
	memory := filepath.Join(t.TempDir(), "idem.yaml")
	if err := os.WriteFile(memory, []byte("transport: memory\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args []string
		code int
		says string
	}{
		{nil, exitUsage, "usage: idemctl VERB"},
		{[]string{"help"}, exitOK, "certify"},
		{[]string{"help", "certify"}, exitOK, "-kills"},
		{[]string{"certifi"}, exitUsage, `there is no verb "certifi"`},
		{[]string{"certify", "x"}, exitUsage, `want no arguments, got "x"`},
		{[]string{"certify", "-config", memory, "-kills", "0"}, exitUsage, "-kills must be at least 1, is 0"},
		{[]string{"certify", "-config", memory, "-transaction", "batch"}, exitUsage, `-transaction must be own or group, is "batch"`},
		{[]string{"certify", "-config", memory}, exitUsage, `nothing outlives a process on transport "memory"`},
		{[]string{"certify", "-config", filepath.Join(t.TempDir(), "no.yaml")}, exitUsage, "no.yaml"},
	} {
		t.Run(strings.Join(tc.args, " "), func(t *testing.T) {
			var out strings.Builder
			if code := run(t.Context(), tc.args, &out, &out); code != tc.code || !strings.Contains(out.String(), tc.says) {
				t.Errorf("exit code %d, want %d; it says\n%s\nwant %q", code, tc.code, out.String(), tc.says)
			}
		})
	}
}
