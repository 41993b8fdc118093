#!/usr/bin/env bash
# Finds a Chromium or Chrome for tests of pages, installs Debian's where there is none, and prints
# where it is.
#
# Use: eval "$(scripts/chromium.sh)"   (stdout has only an export line, progress goes to stderr)
#
# Installing needs Debian and root. Environment: IDEM_CACHE and IDEM_STATE as for brokers.sh.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

find_browser() {
  local name
  for name in chromium chromium-browser google-chrome; do
    command -v "$name" && return
  done
  return 1
}

install() {
  ! find_browser >/dev/null || return 0 # while we waited for the lock
  if [ ! -e /etc/debian_version ] || [ "$(id -u)" != 0 ]; then
    say "no Chromium, and not Debian as root: tests of pages skip"
    return 1
  fi
  apt_install chromium fonts-dejavu-core
}

find_browser >/dev/null || locked install
echo "export IDEM_TEST_CHROMIUM='$(find_browser)'"
