#!/usr/bin/env bash
# Fetches the official JSON Schemas of AsyncAPI, once, and prints where they are.
#
# Use: eval "$(scripts/asyncapi-specs.sh)"   (stdout has only an export line, progress goes to stderr)
#
# They are the npm package @asyncapi/specs (Apache-2.0); a test holds our contracts against them.
# Environment: IDEM_CACHE as for brokers.sh.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

version=6.11.1
sha256=01af8744dc33c0c7eb2e908f6a955319ee58b70ecadc9387d1aeb16c0cd28928
specs=$cache/asyncapi-specs-$version

fetch() {
  [ ! -d "$specs" ] || return 0 # while we waited for the lock
  if ! command -v npm >/dev/null; then
    say "npm is not installed: the contracts go without a check by AsyncAPI's own schemas"
    return 1
  fi
  say "fetching @asyncapi/specs $version"
  local temp
  temp=$(mktemp -d "$cache/asyncapi-specs.XXXXXX")
  # A folder that is there is complete: it gets its name last.
  if (
    cd "$temp" &&
      within 120 npm pack --silent "@asyncapi/specs@$version" >/dev/null </dev/null &&
      echo "$sha256  asyncapi-specs-$version.tgz" | sha256sum --check --quiet &&
      tar -xzf "asyncapi-specs-$version.tgz" package/schemas package/LICENSE &&
      mv package "$specs"
  ) >&2; then
    rm -rf "$temp"
  else
    rm -rf "$temp"
    say "could not fetch @asyncapi/specs $version"
    return 1
  fi
}

[ -d "$specs" ] || locked fetch
echo "export IDEM_TEST_ASYNCAPI='$specs/schemas'"
