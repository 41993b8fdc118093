package testenv

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// dockerStub stands in for the docker command: it notes how it is called, and its engine answers
// or not. Its containers run once `compose up` was called.
const dockerStub = `#!/bin/sh
here=$(dirname "$0")
echo "$*" >>"$here/calls"
case "$*" in
info) exit $(cat "$here/info") ;;
"compose version") exit $(cat "$here/compose") ;;
*" ps --quiet "*) grep -q ' up ' "$here/calls" && echo 0123456789ab ;;
esac
`

// script runs scripts/brokers.sh with a docker command of its own and an empty state folder.
type script struct {
	t          *testing.T
	bin, state string
}

func newScript(t *testing.T, dockerInfo, dockerCompose int) *script {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs bash")
	}
	temp := t.TempDir()
	// PostgreSQL runs as a user of its own, which must be able to reach its state.
	if err := errors.Join(os.Chmod(filepath.Dir(temp), 0o755), os.Chmod(temp, 0o755)); err != nil {
		t.Fatal(err)
	}
	s := &script{t: t, bin: t.TempDir(), state: filepath.Join(temp, "a state folder")}
	s.write(filepath.Join(s.bin, "docker"), dockerStub, 0o755)
	s.write(filepath.Join(s.bin, "info"), strconv.Itoa(dockerInfo), 0o644)
	s.write(filepath.Join(s.bin, "compose"), strconv.Itoa(dockerCompose), 0o644)
	return s
}

func (s *script) write(path, content string, mode os.FileMode) {
	s.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), mode)); err != nil {
		s.t.Fatal(err)
	}
}

// run returns what the script prints on stdout, and its exit code.
func (s *script) run(command string) (string, int) {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(s.t.Context(), "bash", "../../scripts/brokers.sh", command)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = append(os.Environ(), "PATH="+s.bin+":"+os.Getenv("PATH"), "IDEM_STATE="+s.state,
		"IDEM_CACHE="+s.state, "IDEM_POSTGRES_PORT=1234", "IDEM_KAFKA_PORT=2345")
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		s.t.Fatalf("brokers.sh %s: %v", command, err)
	}
	s.t.Logf("brokers.sh %s: exit code %d, stderr:\n%s", command, cmd.ProcessState.ExitCode(), stderr.String())
	return stdout.String(), cmd.ProcessState.ExitCode()
}

func (s *script) dockerCalls() string {
	calls, err := os.ReadFile(filepath.Join(s.bin, "calls"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.t.Fatal(err)
	}
	return string(calls)
}

func TestBrokersUseAWorkingDockerEngine(t *testing.T) {
	s := newScript(t, 0, 0)
	const want = "export IDEM_TEST_POSTGRES='postgres://idem:idem@127.0.0.1:1234/postgres?sslmode=disable'\n" +
		"export IDEM_TEST_KAFKA=127.0.0.1:2345\n"
	if got, code := s.run("up"); got != want || code != 0 {
		t.Errorf("up: got exit code %d and\n%swant\n%s", code, got, want)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	compose := "compose --project-name idem-test --file " + filepath.Join(root, "compose.yaml")
	if calls := s.dockerCalls(); !strings.Contains(calls, compose+" up --detach --wait\n") {
		t.Errorf("up: docker was called with\n%s", calls)
	}
	if got, code := s.run("status"); code != 0 {
		t.Errorf("status: got exit code %d and\n%s", code, got)
	}
	if _, code := s.run("down"); code != 0 {
		t.Errorf("down: got exit code %d", code)
	}
	if calls := s.dockerCalls(); !strings.HasSuffix(calls, compose+" down --volumes\n") {
		t.Errorf("down: docker was called with\n%s", calls)
	}
	if got, _ := s.run("env"); got != "" {
		t.Errorf("env after down: got\n%s", got)
	}
}

func TestBrokersDoWithoutDocker(t *testing.T) {
	engine := "none"
	if _, err := os.Stat("/etc/debian_version"); err == nil && os.Getuid() == 0 {
		engine = "debian"
	}
	for _, tc := range []struct {
		name          string
		info, compose int
	}{
		{"no engine answers", 1, 0},
		{"the compose plugin is missing", 0, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newScript(t, tc.info, tc.compose)
			want := "engine: " + engine + "\npostgres: stopped\nkafka: stopped\n"
			if got, code := s.run("status"); got != want || code != 1 {
				t.Errorf("status: got exit code %d and\n%swant 1 and\n%s", code, got, want)
			}
			if calls := s.dockerCalls(); strings.Contains(calls, " up ") {
				t.Errorf("docker was called with\n%s", calls)
			}
		})
	}
}

// A pid file may outlive its server, and its number may have gone to another process.
func TestBrokersNeverStopAStranger(t *testing.T) {
	s := newScript(t, 1, 1)
	stranger := exec.CommandContext(t.Context(), "sleep", "60")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	pid := strconv.Itoa(stranger.Process.Pid) + "\n"
	s.write(filepath.Join(s.state, "kafka", "pid"), pid, 0o644)
	s.write(filepath.Join(s.state, "postgres", "data", "postmaster.pid"), pid, 0o644)

	if got, _ := s.run("env"); got != "" {
		t.Errorf("env took a stranger for a server: got\n%s", got)
	}
	if _, code := s.run("down"); code != 0 {
		t.Errorf("down: got exit code %d", code)
	}
	// Had down sent a signal, this one would come too late to be what ended the process.
	if err := stranger.Process.Signal(os.Kill); err != nil {
		t.Errorf("down ended a stranger: %v", err)
	}
	err := stranger.Wait()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.String() != "signal: killed" {
		t.Errorf("the stranger ended with %v, want by our own kill", err)
	}
}
