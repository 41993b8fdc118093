#!/usr/bin/env bash
# Generated code:  scripts/generate.sh gen   writes it
#                  scripts/generate.sh diff  fails when it is not what would be written
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

case ${1:-} in gen | diff) ;; *) sed -n '2,3s/^# //p' "$0" >&2; exit 2 ;; esac

# Wire's injectors are the files that only Wire builds.
injectors=()
while IFS= read -r folder; do injectors+=("$folder"); done < <(
  grep -rl --include='*.go' '^//go:build wireinject' . | xargs -r -n1 dirname | sort -u
)
if [ ${#injectors[@]} -gt 0 ]; then
  go tool wire "$1" "${injectors[@]}"
fi
