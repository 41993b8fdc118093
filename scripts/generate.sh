#!/usr/bin/env bash
# Generated code:  scripts/generate.sh gen   writes it
#                  scripts/generate.sh diff  fails when it is not what would be written
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

case ${1:-} in gen | diff) ;; *) sed -n '2,3s/^# //p' "$0" >&2; exit 2 ;; esac

# The example is what idemgen makes of its contract.
example=examples/pedidos/idemgen.yaml
if [ -f "$example" ]; then
  case $1 in
    gen) go run ./cmd/idemgen generate -config "$example" ;;
    diff) go run ./cmd/idemgen check -config "$example" ;;
  esac
fi

# Wire's injectors are the files that only Wire builds.
injectors=()
while IFS= read -r folder; do injectors+=("$folder"); done < <(
  grep -rl --include='*.go' '^//go:build wireinject' . | xargs -r -n1 dirname | sort -u
)
if [ ${#injectors[@]} -gt 0 ]; then
  go tool wire "$1" "${injectors[@]}"
fi
