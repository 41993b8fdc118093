#!/usr/bin/env bash
# Runs every fuzz test for a short time:  scripts/fuzz.sh [time per test, default 10s]
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

# A package takes one -fuzz pattern that matches one test, so each gets a run of its own.
grep -ro --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | sort | while IFS=: read -r file func; do
  echo "fuzz: ${func#func } in $(dirname "$file")"
  go test -run '^$' -fuzz "^${func#func }\$" -fuzztime "${1:-10s}" "$(dirname "$file")" </dev/null
done
