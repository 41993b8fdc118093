package idem

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestBackoffDefaults(t *testing.T) {
	t.Parallel()
	want := Backoff{Base: 200 * time.Millisecond, Max: 30 * time.Second, Factor: 2}
	if got := (Backoff{}).WithDefaults(); got != want {
		t.Errorf("defaults are %+v, want %+v", got, want)
	}
	set := Backoff{Base: 1, Max: 2, Factor: 3}
	if got := set.WithDefaults(); got != set {
		t.Errorf("fields that are set became %+v", got)
	}
}

func TestBackoffCap(t *testing.T) {
	t.Parallel()
	b := Backoff{Base: 100 * time.Millisecond, Max: time.Second, Factor: 2}
	for attempt, want := range map[int]time.Duration{
		math.MinInt: 100 * time.Millisecond,
		-1:          100 * time.Millisecond,
		0:           100 * time.Millisecond,
		1:           100 * time.Millisecond,
		2:           200 * time.Millisecond,
		3:           400 * time.Millisecond,
		4:           800 * time.Millisecond,
		5:           time.Second,
		64:          time.Second,
		math.MaxInt: time.Second,
	} {
		if got := b.Cap(attempt); got != want {
			t.Errorf("Cap(%d) = %v, want %v", attempt, got, want)
		}
	}
}

// Shifts, powers and conversions that overflow have turned long outages into
// hot loops in other libraries: every corner is either refused or in range.
func TestBackoffEdgesAreRefusedOrInRange(t *testing.T) {
	t.Parallel()
	accepted := 0
	for _, base := range []time.Duration{-1, 0, 1, 100 * time.Millisecond, time.Hour, math.MaxInt64} {
		for _, limit := range []time.Duration{-1, 0, 1, time.Millisecond, time.Hour, math.MaxInt64 - 1, math.MaxInt64} {
			for _, factor := range []float64{math.Inf(-1), -2, 0, 0.5, 1, 1.0000001, 2, 1e308, math.Inf(1), math.NaN()} {
				b := Backoff{Base: base, Max: limit, Factor: factor}
				if b.Validate() == nil {
					accepted++
					checkBackoff(t, b)
				}
			}
		}
	}
	if accepted < 20 {
		t.Errorf("only %d combinations were accepted: the test proves little", accepted)
	}
}

// What Validate refuses does no harm either.
func TestBackoffThatIsNotANumber(t *testing.T) {
	t.Parallel()
	b := Backoff{Base: time.Second, Max: time.Minute, Factor: math.NaN()}
	if got := b.Cap(3); got != time.Minute {
		t.Errorf("got %v", got)
	}
}

func TestBackoffProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := Backoff{
			Base:   time.Duration(rapid.Int64().Draw(t, "base")),
			Max:    time.Duration(rapid.Int64().Draw(t, "max")),
			Factor: rapid.Float64().Draw(t, "factor"),
		}
		if b.Validate() == nil {
			checkBackoff(t, b)
		}
	})
}

func checkBackoff(t interface {
	Helper()
	Errorf(string, ...any)
}, b Backoff) {
	t.Helper()
	full := b.WithDefaults()
	previous := time.Duration(0)
	for _, attempt := range []int{math.MinInt, -1, 0, 1, 2, 31, 32, 35, 63, 64, 100, 1e9, math.MaxInt} {
		limit := b.Cap(attempt)
		if limit < full.Base || limit > full.Max || limit < previous {
			t.Errorf("%+v: Cap(%d) = %d, want within base and max, and not below %d", full, attempt, limit, previous)
		}
		previous = limit
		for _, rnd := range []float64{0, 0.5, math.Nextafter(1, 0)} {
			if d := Jitter(limit, rnd); d <= 0 || d > full.Max {
				t.Errorf("%+v: delay after attempt %d with rnd %v is %d, want 0 < delay <= max", full, attempt, rnd, d)
			}
		}
	}
}

func TestJitter(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		limit time.Duration
		rnd   float64
		want  time.Duration
	}{
		{100, 0, 100},
		{100, 0.25, 75},
		{100, math.Nextafter(1, 0), 1},
		{1, 0.999, 1},
		{100, 1, 1},
		{100, math.Inf(1), 1},
		{100, -1, 100},
		{100, math.NaN(), 100},
		{math.MaxInt64, 0, math.MaxInt64},
		{0, 0.5, 0},
		{-5, 0.5, 0},
	} {
		if got := Jitter(tt.limit, tt.rnd); got != tt.want {
			t.Errorf("Jitter(%d, %v) = %d, want %d", tt.limit, tt.rnd, got, tt.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		limit := time.Duration(rapid.Int64Min(1).Draw(t, "limit"))
		if d := Jitter(limit, rapid.Float64().Draw(t, "rnd")); d <= 0 || d > limit {
			t.Errorf("%d is outside (0, %d]", d, limit)
		}
	})
}

// Full jitter means that the whole range is used, evenly.
func TestJitterIsUniform(t *testing.T) {
	t.Parallel()
	const n = 1000
	var quarters [4]int
	for i := range n {
		d := Jitter(4000, float64(i)/n)
		quarters[(d-1)/1000]++
	}
	for i, got := range quarters {
		if got != n/4 {
			t.Errorf("quarter %d has %d of %d delays", i, got, n)
		}
	}
}

func TestBackoffValidateNamesEveryField(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		backoff Backoff
		want    []string
	}{
		{Backoff{}, nil},
		{Backoff{Base: time.Second, Max: time.Second, Factor: 1}, nil},
		{Backoff{Base: -1}, []string{"base"}},
		{Backoff{Base: time.Minute}, []string{"max"}},
		{Backoff{Max: -1}, []string{"max"}},
		{Backoff{Factor: 0.9}, []string{"factor"}},
		{Backoff{Factor: math.NaN()}, []string{"factor"}},
		{Backoff{Factor: math.Inf(1)}, []string{"factor"}},
		{Backoff{Base: -1, Max: -2, Factor: -3}, []string{"base", "max", "factor"}},
	} {
		checkFields(t, fmt.Sprintf("%+v", tt.backoff), tt.backoff.Validate(), tt.want)
	}
}

// checkFields checks that a validation error has exactly one line for each field.
func checkFields(t *testing.T, what string, err error, fields []string) {
	t.Helper()
	var lines []string
	if err != nil {
		lines = strings.Split(err.Error(), "\n")
	}
	if len(lines) != len(fields) {
		t.Errorf("%s: got %d problems, want %q:\n%v", what, len(lines), fields, err)
		return
	}
	for i, field := range fields {
		if !strings.HasPrefix(lines[i], field) {
			t.Errorf("%s: problem %d is %q, want it to name %s", what, i, lines[i], field)
		}
	}
}
