package model

import (
	"strings"
	"time"
)

// FormatDuration writes a duration as contracts and configurations do: like Go,
// without the parts that are zero, 168h instead of 168h0m0s.
func FormatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
