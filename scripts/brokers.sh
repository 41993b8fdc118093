#!/usr/bin/env bash
# Starts and stops the real PostgreSQL and Kafka that the tests run against.
#
#   scripts/brokers.sh up      start what is not running yet and print its addresses
#   scripts/brokers.sh env     print the addresses of what is running
#   scripts/brokers.sh status  tell what is running; exit 1 unless both are
#   scripts/brokers.sh down    stop them and delete their data
#
# Use: eval "$(scripts/brokers.sh up)"   (stdout has only export lines, progress goes to stderr)
#
# With a working Docker engine they come from compose.yaml; else, on Debian as root, from Debian's
# PostgreSQL packages and from Apache Kafka's jars on Maven Central. Elsewhere nothing is started
# and the tests that need a server skip.
#
# Environment:
#   IDEM_CACHE          downloads           (default ${XDG_CACHE_HOME:-$HOME/.cache}/idem)
#   IDEM_STATE          data, logs, pids    (default $IDEM_CACHE/run)
#   IDEM_POSTGRES_PORT  default 15432       below the range that Linux hands out to clients,
#   IDEM_KAFKA_PORT     default 19092       so that no outgoing connection can sit on them;
#                                           the KRaft controller takes the port after Kafka's
set -euo pipefail

# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
export IDEM_POSTGRES_PORT=${IDEM_POSTGRES_PORT:-15432}
export IDEM_KAFKA_PORT=${IDEM_KAFKA_PORT:-19092}
# shellcheck source=scripts/postgres/postgres.sh
. "$root/scripts/postgres/postgres.sh"
# shellcheck source=scripts/kafka/kafka.sh
. "$root/scripts/kafka/kafka.sh"

compose() { docker compose --project-name idem-test --file "$root/compose.yaml" "$@"; }

# engine names how servers are run here: docker, debian or none. Servers that already run decide;
# asking Docker comes last because a dead engine may answer slowly.
engine() {
  if [ -e "$state/docker" ]; then echo docker
  elif postgres_running || kafka_running; then echo debian
  elif docker_works; then echo docker
  elif [ -e /etc/debian_version ] && [ "$(id -u)" = 0 ]; then echo debian
  else echo none
  fi
}

docker_works() {
  command -v docker >/dev/null && within 10 docker info >/dev/null 2>&1 || return 1
  docker compose version >/dev/null 2>&1 && return 0
  say "Docker runs but has no compose plugin: not using it"
  return 1
}

docker_up() {
  say "starting PostgreSQL and Kafka with docker compose"
  if ! compose up --detach --wait >&2; then
    compose logs --tail 30 >&2 || true
    return 1
  fi
  printf '%s\n' "$IDEM_POSTGRES_PORT" "$IDEM_KAFKA_PORT" >"$state/docker"
}

# docker_running is false also when the containers were removed behind our back.
docker_running() { [ -e "$state/docker" ] && [ -n "$(compose ps --quiet "$1" 2>/dev/null)" ]; }

# port SERVER LINE prints the port of a running server, which may be another than the one now asked
# for; LINE is where docker_up noted it. It prints nothing when the server is not running.
port() {
  if "$1_running"; then "$1_port"; elif docker_running "$1"; then sed -n "$2p" "$state/docker"; fi
}

print_env() {
  local port
  port=$(port postgres 1)
  [ -z "$port" ] || echo "export IDEM_TEST_POSTGRES='postgres://idem:idem@127.0.0.1:$port/postgres?sslmode=disable'"
  port=$(port kafka 2)
  [ -z "$port" ] || echo "export IDEM_TEST_KAFKA=127.0.0.1:$port"
}

up() {
  local failed=0
  case $(engine) in
  docker) docker_up || failed=1 ;;
  debian)
    postgres_up || failed=1
    kafka_up || failed=1
    ;;
  none) say "no working Docker engine, and not Debian as root: no servers; tests that need them skip" ;;
  esac
  print_env
  return $failed
}

down() {
  postgres_down
  kafka_down
  if [ -e "$state/docker" ]; then
    compose down --volumes >&2
    rm -f "$state/docker"
  fi
}

status() {
  local postgres kafka
  postgres=$(port postgres 1)
  kafka=$(port kafka 2)
  echo "engine: $(engine)"
  echo "postgres: ${postgres:-stopped}"
  echo "kafka: ${kafka:-stopped}"
  [ -n "$postgres" ] && [ -n "$kafka" ]
}

usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p;}' "${BASH_SOURCE[0]}"; }

case ${1:-help} in
up) locked up ;;
down) locked down ;;
env) print_env ;;
status) status ;;
help | -h | --help) usage ;;
*)
  usage >&2
  exit 2
  ;;
esac
