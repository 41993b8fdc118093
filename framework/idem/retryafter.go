package idem

import (
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter bounds what others may tell us to wait.
const maxRetryAfter = 24 * time.Hour

// ParseRetryAfter reads the value of an HTTP Retry-After header (RFC 9110,
// 10.2.3): seconds, or a date, compared with now. The result is within 0 and
// 24 h; what is past or negative gives 0. It returns false for anything else.
func ParseRetryAfter(value string, now time.Time) (time.Duration, bool) {
	value = strings.TrimSpace(value)
	if digits := strings.TrimPrefix(value, "-"); digits != "" && strings.Trim(digits, "0123456789") == "" {
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil { // out of range: the sign is all that matters
			seconds = int64(maxRetryAfter / time.Second)
			if digits != value {
				seconds = 0
			}
		}
		seconds = min(max(seconds, 0), int64(maxRetryAfter/time.Second))
		return time.Duration(seconds) * time.Second, true
	}
	for _, layout := range []string{
		"Mon, 02 Jan 2006 15:04:05 GMT",
		"Monday, 02-Jan-06 15:04:05 GMT",
		time.ANSIC,
	} {
		if t, err := time.Parse(layout, value); err == nil {
			return min(max(t.Sub(now), 0), maxRetryAfter), true
		}
	}
	return 0, false
}

// RetryAfterOf returns how long an error asks to wait: what [RetryAfter] was
// given, or the result of a method RetryAfter() time.Duration of an error in
// its tree. The outermost answer counts, and the longest of joined errors. It
// is positive and at most 24 h; false means that err does not say. It never
// panics.
func RetryAfterOf(err error) (time.Duration, bool) {
	if err == nil {
		return 0, false
	}
	d := longestRetryAfter(err, fullReach)
	return d, d > 0
}

func longestRetryAfter(err error, r reach) (longest time.Duration) {
	if d := ownRetryAfter(err); d > 0 {
		return min(d, maxRetryAfter)
	}
	members, r := r.members(err)
	for _, member := range members {
		longest = max(longest, longestRetryAfter(member, r))
	}
	return longest
}

func ownRetryAfter(err error) time.Duration {
	if m, ok := err.(*mark); ok {
		return m.after
	}
	return guard(func() time.Duration {
		if e, ok := err.(interface{ RetryAfter() time.Duration }); ok {
			return e.RetryAfter()
		}
		return 0
	})
}
