#!/usr/bin/env bash
# Certifies this checkout: the conformance cases on every pair, and the crash certificate in its long
# form with servers of its own that are killed. Writes conformance/CERTIFICATE.md and, beside it,
# certificate.html and certificate.json.
#
#   scripts/certify.sh [KILLS]      about so many kills for each pair (default 200); it takes half an hour
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

exports=$(scripts/brokers.sh up)
eval "$exports"
reports=$(mktemp -d)
trap 'rm -rf "$reports"' EXIT
export IDEM_CONFORMANCE_REPORT=$reports IDEM_CERTIFY_KILLS=${1:-200}
IDEM_CONFORMANCE_REVISION=$(git describe --always --dirty 2>/dev/null || true)
export IDEM_CONFORMANCE_REVISION
failed=0
go test -timeout 120m ./conformance/... || failed=1
go run ./conformance/report/certificate -in "$reports" -out conformance || failed=1
exit "$failed"
