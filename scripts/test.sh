#!/usr/bin/env bash
# Runs the tests with the race detector against real servers, which it starts where it can.
#
#   scripts/test.sh [go test arguments…] [packages…]      (default: all packages)
#
# A server named in IDEM_TEST_POSTGRES or IDEM_TEST_KAFKA is used as it is. With
# IDEM_REQUIRE=postgres,kafka,asyncapi-specs,chromium a test whose server, schemas of AsyncAPI
# (IDEM_TEST_ASYNCAPI) or browser (IDEM_TEST_CHROMIUM) is missing fails instead of skipping.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

# The race detector needs a C compiler.
if ! command -v "$(go env CC)" >/dev/null; then
  if [ -e /etc/debian_version ] && [ "$(id -u)" = 0 ]; then
    mkdir -p "$state"
    apt_install gcc libc6-dev
  else
    say "the race detector needs a C compiler: install one, or use make test-short"
    exit 1
  fi
fi

given_postgres=${IDEM_TEST_POSTGRES:-} given_kafka=${IDEM_TEST_KAFKA:-}
if [ -z "$given_postgres" ] || [ -z "$given_kafka" ]; then
  exports=$(scripts/brokers.sh up)
  eval "$exports"
fi
if [ -n "$given_postgres" ]; then export IDEM_TEST_POSTGRES=$given_postgres; fi
if [ -n "$given_kafka" ]; then export IDEM_TEST_KAFKA=$given_kafka; fi
if [ -z "${IDEM_TEST_ASYNCAPI:-}" ] && exports=$(scripts/asyncapi-specs.sh); then eval "$exports"; fi
if [ -z "${IDEM_TEST_CHROMIUM:-}" ] && exports=$(scripts/chromium.sh); then eval "$exports"; fi
# Only the scripts know these; the framework reads IDEM_* and would take one for a slip of the pen.
unset IDEM_CACHE IDEM_STATE IDEM_POSTGRES_PORT IDEM_KAFKA_PORT
go run ./internal/testenv/servers

# Without packages named: those that have tests, so that the last line tells of tests; the rest has
# to build.
for arg in "$@"; do
  case $arg in ./*) exec go test -race "$@" ;; esac
done
go build ./...
packages=()
while IFS= read -r package; do packages+=("$package"); done < <(
  go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...
)
# The conformance matrix takes minutes; on a starved machine more than the usual ten.
exec go test -race -timeout 20m "$@" "${packages[@]}"
