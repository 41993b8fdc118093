package testenv

import (
	"os"
	"os/exec"
	"testing"
)

// Chromium returns the path of a Chromium or Chrome. Without one the test skips, or fails when
// IDEM_REQUIRE names "chromium".
func Chromium(t testing.TB) string {
	t.Helper()
	if path := os.Getenv(envChromium); path != "" {
		if _, err := exec.LookPath(path); err != nil {
			t.Fatalf("%s: %v", envChromium, err)
		}
		return path
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if required("chromium") {
		t.Fatalf("needs the browser Chromium, which %s requires: scripts/chromium.sh installs it, or set %s", envRequire, envChromium)
	}
	t.Skipf("needs the browser Chromium: scripts/chromium.sh installs it, or set %s", envChromium)
	return ""
}
