# What the scripts share. Sourced, never run.
# shellcheck shell=bash
# shellcheck disable=SC2034 # the scripts use these
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${IDEM_CACHE:-${XDG_CACHE_HOME:-${HOME:-/var/cache}/.cache}/idem}
state=${IDEM_STATE:-$cache/run}

say() { printf '%s: %s\n' "$(basename "$0" .sh)" "$*" >&2; }

# within SECONDS COMMAND… runs the command with a time limit where the system has timeout(1).
within() {
  local seconds=$1
  shift
  if command -v timeout >/dev/null; then timeout "$seconds" "$@"; else "$@"; fi
}

# locked FUNCTION lets one caller at a time in, so that two `up` do not start two servers.
locked() {
  mkdir -p "$state"
  if command -v flock >/dev/null; then
    exec 9>"$state/lock"
    flock -w 300 9 || { say "another brokers.sh has held $state/lock for 300 s"; return 1; }
  fi
  "$@"
}

# detached COMMAND… starts a server that outlives us and holds nothing of ours open: a CI runner
# waits for its pipes to close, and a lock is held as long as any copy of its descriptor is.
detached() {
  (
    cd /
    exec </dev/null
    for fd in "/proc/$BASHPID/fd"/*; do
      fd=${fd##*/}
      if [ "$fd" -gt 2 ]; then eval "exec $fd>&-"; fi
    done
    exec setsid "$@"
  ) &
}

# is_process PID WORD tells whether PID lives and has WORD in its command line, i.e. whether a pid
# file still names our server and not a stranger that got the same number.
is_process() {
  [ -n "$1" ] && [ -r "/proc/$1/cmdline" ] && tr '\0' '\n' <"/proc/$1/cmdline" 2>/dev/null | grep -qxF -- "$2"
}

# listening PORT tells whether something accepts connections on the loopback interface.
listening() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# wait_until SECONDS COMMAND… polls until the command succeeds; false when the time is over.
wait_until() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@"; do
    [ $SECONDS -lt $deadline ] || return 1
    sleep 0.1
  done
}

gone() { ! is_process "$@"; }

# stop_process PID WORD SECONDS asks the process to end, and ends it when it does not in time.
stop_process() {
  is_process "$1" "$2" || return 0
  kill -TERM "$1" 2>/dev/null || true
  if ! wait_until "$3" gone "$1" "$2"; then
    kill -KILL "$1" 2>/dev/null || true
    wait_until 5 gone "$1" "$2"
  fi
}

# apt_install PACKAGE… installs Debian packages; false, with the reason shown, when it cannot.
apt_install() {
  say "installing $*"
  local log=$state/apt.log
  if ! {
    export DEBIAN_FRONTEND=noninteractive
    apt-get install -y --no-install-recommends "$@" ||
      { apt-get update && apt-get install -y --no-install-recommends "$@"; }
  } </dev/null >"$log" 2>&1 9>&-; then
    tail -n 5 "$log" >&2
    return 1
  fi
}
