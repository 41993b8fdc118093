package kafka

import (
	"math/rand/v2"
	"time"
)

// spacing is the pause after the n-th failure in a row, from 1: it doubles
// from base up to limit, and a random half of it is left out so that members
// do not move in step.
func spacing(n int, base, limit time.Duration) time.Duration {
	d := limit
	if shift := max(n, 1) - 1; shift < 32 && base<<shift < limit {
		d = base << shift
	}
	return d/2 + rand.N(d/2+1)
}
