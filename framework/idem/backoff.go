package idem

import (
	"math"
	"time"
)

// Backoff is an exponential delay with a cap and full jitter: the delay before
// attempt n+1 is drawn uniformly from (0, min(Max, Base·Factor^(n-1))].
// Source: M. Brooker, "Exponential Backoff and Jitter", AWS, 2015.
type Backoff struct {
	// Base is the longest delay after the first attempt. 0 means 200 ms.
	Base time.Duration
	// Max is the longest delay of all. 0 means 30 s.
	Max time.Duration
	// Factor is how much the longest delay grows with each attempt. 0 means
	// 2; 1 keeps it at Base.
	Factor float64
}

// WithDefaults fills the zero fields: 200 ms, 30 s, 2.
func (b Backoff) WithDefaults() Backoff {
	if b.Base == 0 {
		b.Base = 200 * time.Millisecond
	}
	if b.Max == 0 {
		b.Max = 30 * time.Second
	}
	if b.Factor == 0 {
		b.Factor = 2
	}
	return b
}

// Validate returns every field that makes no sense, joined; zero fields count
// as their defaults.
func (b Backoff) Validate() error {
	var e fieldErrors
	b = b.WithDefaults()
	e.check(b.Base > 0, "base", "must be positive, is %v", b.Base)
	e.check(b.Max >= b.Base, "max", "must not be below base %v, is %v", b.Base, b.Max)
	e.check(b.Factor >= 1 && !math.IsInf(b.Factor, 0), "factor", "must be a finite number of at least 1, is %v", b.Factor)
	return e.join()
}

// Cap is the longest delay after the given attempt, counted from 1; smaller
// attempts count as 1. It never falls as attempts grow and stays within Base
// and Max for every attempt, however large.
func (b Backoff) Cap(attempt int) time.Duration {
	b = b.WithDefaults()
	limit := float64(b.Base) * math.Pow(b.Factor, float64(max(attempt, 1)-1))
	if !(limit < float64(b.Max)) { // the negation also catches NaN
		return b.Max
	}
	return max(time.Duration(limit), b.Base)
}

// Jitter draws a delay from (0, limit], given rnd uniform in [0, 1). Any other
// rnd is safe as well: NaN and negatives give the limit, 1 and more the
// smallest delay, 1 ns. A limit that is not positive gives 0: there is nothing
// to wait for.
func Jitter(limit time.Duration, rnd float64) time.Duration {
	switch {
	case limit <= 0:
		return 0
	case !(rnd > 0):
		return limit
	case rnd >= 1:
		return 1
	}
	return max(limit-time.Duration(rnd*float64(limit)), 1)
}
