package main

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// What cannot work is told at once, with status 2.
func TestUsage(t *testing.T) {
	t.Chdir(t.TempDir()) // where there is no idem.yaml
	for _, name := range []string{"IDEM_TRANSPORT", "IDEM_STORE", "IDEM_POSTGRES_DSN", "IDEM_KAFKA_BROKERS", "IDEM_SET"} {
		t.Setenv(name, "") // counts as unset
	}
	for _, tc := range []struct {
		args string
		want string
	}{
		{"-transport kafak", "-transport: transport: must be sqlite, postgres, kafka or memory (did you mean kafka?)"},
		{"-transport postgres", "postgres.dsn: must be set for transport postgres"},
		{"-transport kafka", "kafka.brokers: must name at least one broker"},
		{"-transport memory -kill", "-kill needs a transport that outlives a process"},
		{"-n 3", "-n must be at least 10, is 3"},
		{"-n some", `invalid value "some" for flag -n`},
		{"-timeout -1s", "-timeout must not be negative"},
		{"-set queue.leese=2s", "-set: queue.leese"},
		{"-config no-such.yaml", "no-such.yaml"},
		{"kafka", `unexpected argument "kafka"`},
		{"-nonsense", "flag provided but not defined: -nonsense"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			if linked() != nil && strings.Contains(tc.args, "-transport") {
				t.Skipf("built for %v alone", linked())
			}
			fails(t, strings.Fields(tc.args), tc.want)
		})
	}
}

// So is a server that is not there, or that never answers.
func TestUnreachable(t *testing.T) {
	for _, b := range []struct{ transport, flags string }{
		{"postgres", "-set postgres.dsn=postgres://app@ADDRESS/app?sslmode=disable"},
		{"kafka", "-set store=sqlite -set kafka.brokers=ADDRESS"},
	} {
		args := append(strings.Fields("-timeout 3s -transport "+b.transport+" "+b.flags), "-config", noConfig(t))
		t.Run(b.transport+" refuses", func(t *testing.T) {
			t.Parallel()
			l := listen(t)
			_ = l.Close() // now nobody listens there
			fails(t, at(b.transport, args, l, t), "refused")
		})
		t.Run(b.transport+" is silent", func(t *testing.T) {
			t.Parallel()
			fails(t, at(b.transport, args, listen(t), t), "no answer within 3s")
		})
	}
}

func at(transport string, args []string, l net.Listener, t *testing.T) []string {
	skipUnlessLinked(t, transport)
	out := make([]string, len(args))
	for i, arg := range args {
		out[i] = strings.ReplaceAll(arg, "ADDRESS", l.Addr().String())
	}
	return out
}

// listen accepts connections and never answers.
func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = c.Close() })
		}
	}()
	return l
}

func fails(t *testing.T, args []string, want string) {
	t.Helper()
	begin := time.Now()
	var stderr output
	if code := run(t.Context(), args, io.Discard, &stderr); code != exitUsage {
		t.Errorf("exit status %d, want %d", code, exitUsage)
	}
	if !strings.Contains(stderr.String(), want) {
		t.Errorf("stderr does not say %q: %s", want, stderr.String())
	}
	if d := time.Since(begin); d > 15*time.Second {
		t.Errorf("took %v", d)
	}
}
