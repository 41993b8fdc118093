#!/usr/bin/env bash
# Checks everything that needs no test run: format, vet, linters, modules, shell scripts.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

golangci_lint=v2.15.0

step() { printf 'lint: %s\n' "$*"; }

step gofmt
unformatted=$(gofmt -l .)
if [ -n "$unformatted" ]; then
  printf 'not formatted (make fmt):\n%s\n' "$unformatted"
  exit 1
fi

step go vet
go vet ./...
for transport in sqlite postgres kafka kafkasqlite; do go vet -tags "$transport" ./examples/...; done

step "golangci-lint $golangci_lint"
bin=$cache/bin/golangci-lint-$golangci_lint
if [ ! -x "$bin/golangci-lint" ]; then
  GOBIN=$bin GOFLAGS='' go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$golangci_lint"
fi
"$bin/golangci-lint" run ./...

step go mod
go mod verify
go mod tidy -diff
(cd examples/dirtransport && go mod tidy -diff)

if command -v shellcheck >/dev/null; then
  step shellcheck
  shellcheck --external-sources scripts/*.sh scripts/*/*.sh .ci/run
else
  step "shellcheck is not installed: scripts go unchecked"
fi
