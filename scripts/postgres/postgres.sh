# PostgreSQL for tests from Debian's packages, in a cluster of its own. Sourced by brokers.sh.
# shellcheck shell=bash
# shellcheck disable=SC2154 # it comes from common.sh

# postgres_dir prints the cluster's folder. The server refuses to run as root, so the folder must be
# one that the user postgres can reach, which a cache below /root is not.
postgres_dir() {
  local parent=$state
  while [ ! -d "$parent" ]; do parent=$(dirname "$parent"); done
  if ! id postgres >/dev/null 2>&1 || as_postgres test -x "$parent" 2>/dev/null; then
    echo "$state/postgres"
  else
    echo "/var/lib/postgresql/idem-$(printf %s "$state" | cksum | cut -d' ' -f1)"
  fi
}

as_postgres() (
  cd /
  export LC_ALL=C
  exec setpriv --reuid=postgres --regid=postgres --init-groups "$@" 9>&-
)

postgres_pid() { head -n 1 "$1/data/postmaster.pid" 2>/dev/null || true; }

postgres_running() {
  local dir
  dir=$(postgres_dir)
  is_process "$(postgres_pid "$dir")" "$dir/data"
}

# postgres_port prints the port of the running server.
postgres_port() { sed -n 4p "$(postgres_dir)/data/postmaster.pid"; }

postgres_bin() { find /usr/lib/postgresql/*/bin -name initdb 2>/dev/null | sort -V | tail -n 1 | xargs -r dirname; }

postgres_up() {
  if ! command -v setpriv >/dev/null || [ -z "$(postgres_bin)" ]; then
    if ! apt_install postgresql util-linux; then
      say "PostgreSQL is left out: Debian's package could not be installed"
      return 0
    fi
  fi
  local dir bin
  dir=$(postgres_dir)
  bin=$(postgres_bin)
  if postgres_running; then
    [ "$(postgres_port)" = "$IDEM_POSTGRES_PORT" ] || say "PostgreSQL keeps its port until brokers.sh down"
    return 0
  fi
  if listening "$IDEM_POSTGRES_PORT"; then
    say "port $IDEM_POSTGRES_PORT is taken by another program: set IDEM_POSTGRES_PORT"
    return 1
  fi

  say "starting PostgreSQL $("$bin/postgres" --version | grep -o '[0-9.]*' | head -n 1) on 127.0.0.1:$IDEM_POSTGRES_PORT"
  postgres_init "$dir" "$bin" && postgres_start "$dir" "$bin" && return 0
  # What a killed server or another version left may be beyond repair; it is only test data.
  say "starting PostgreSQL again with an empty cluster"
  rm -rf "$dir/data"
  postgres_init "$dir" "$bin" && postgres_start "$dir" "$bin"
}

# postgres_init makes the cluster under another name first: an interrupted initdb leaves no cluster
# that looks whole.
postgres_init() {
  local dir=$1 bin=$2
  mkdir -p "$dir"
  chown postgres: "$dir"
  if [ -e "$dir/data/PG_VERSION" ] && [ "$(cat "$dir/data/PG_VERSION")" != "$("$bin/postgres" --version | grep -o '[0-9]*' | head -n 1)" ]; then
    rm -rf "$dir/data"
  fi
  if [ ! -e "$dir/data/PG_VERSION" ]; then
    rm -rf "$dir/data" "$dir/new"
    # Loopback only and nothing but test data: trust spares a password nobody could keep secret.
    as_postgres "$bin/initdb" -D "$dir/new" -U idem -A trust -E UTF8 --locale=C --no-sync >"$dir/initdb.log" 2>&1 ||
      { tail -n 20 "$dir/initdb.log" >&2; return 1; }
    mv "$dir/new" "$dir/data"
  fi
  # fsync stays on: a store's promises are about what survives a crash.
  printf '%s\n' "port = $IDEM_POSTGRES_PORT" "listen_addresses = '127.0.0.1'" "unix_socket_directories = ''" \
    "max_connections = 300" "fsync = on" "log_min_messages = warning" >"$dir/data/postgresql.auto.conf"
}

# postgres_processes prints /proc entries of whatever works in the cluster's data.
postgres_processes() { find /proc/[0-9]*/cwd -maxdepth 0 -lname "$1/data" 2>/dev/null || true; }

postgres_silent() { [ -z "$(postgres_processes "$1")" ]; }

# postgres_bury removes the pid file of a killed server once its children have noticed. Left alone,
# the file would stop the next server for as long as any process has that number.
postgres_bury() {
  local dir=$1
  [ -e "$dir/data/postmaster.pid" ] || return 0
  wait_until 10 postgres_silent "$dir" || { say "processes of a killed PostgreSQL still work in $dir"; return 1; }
  rm "$dir/data/postmaster.pid"
}

postgres_start() {
  local dir=$1 bin=$2
  postgres_bury "$dir" || return 1
  if ! as_postgres "$bin/pg_ctl" -D "$dir/data" -l "$dir/log" -w -t 120 start </dev/null >"$dir/pg_ctl.log" 2>&1; then
    say "PostgreSQL did not start; the end of $dir/log:"
    tail -n 20 "$dir/log" >&2 || tail -n 20 "$dir/pg_ctl.log" >&2
    return 1
  fi
}

postgres_down() {
  local dir pid
  dir=$(postgres_dir)
  [ -d "$dir" ] || return 0
  pid=$(postgres_pid "$dir")
  if is_process "$pid" "$dir/data"; then
    say "stopping PostgreSQL"
    # SIGINT is PostgreSQL's fast shutdown; SIGTERM would wait for every client to leave.
    kill -INT "$pid"
    wait_until 20 gone "$pid" "$dir/data" || stop_process "$pid" "$dir/data" 5
  fi
  rm -rf "$dir"
}
