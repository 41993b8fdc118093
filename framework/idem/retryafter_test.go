package idem

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"
)

func TestParseRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(1994, 11, 6, 8, 49, 37, 0, time.UTC)
	for _, tt := range []struct {
		value string
		want  time.Duration
		ok    bool
	}{
		{"120", 2 * time.Minute, true},
		{" 1\t", time.Second, true},
		{"0", 0, true},
		{"-5", 0, true},
		{"86400", 24 * time.Hour, true},
		{"86401", 24 * time.Hour, true},
		{"9223372036854775807", 24 * time.Hour, true},
		{"99999999999999999999999", 24 * time.Hour, true},
		{"-99999999999999999999999", 0, true},
		{"Sun, 06 Nov 1994 08:50:37 GMT", time.Minute, true},
		{"Sunday, 06-Nov-94 08:50:37 GMT", time.Minute, true},
		{"Sun Nov  6 08:50:37 1994", time.Minute, true},
		{"Sun, 06 Nov 1994 08:49:36 GMT", 0, true},
		{"Fri, 31 Dec 9999 23:59:59 GMT", 24 * time.Hour, true},
		{"Sat, 01 Jan 0000 00:00:00 GMT", 0, true},
		{"Sun, 06 Nov 1994 08:50:37 EST", 0, false},
		{"", 0, false},
		{"-", 0, false},
		{"--1", 0, false},
		{"+1", 0, false},
		{"1.5", 0, false},
		{"1s", 0, false},
		{"soon", 0, false},
		{"\u0661", 0, false}, // a digit, but not RFC 9110's
	} {
		got, ok := ParseRetryAfter(tt.value, now)
		if got != tt.want || ok != tt.ok {
			t.Errorf("%q: got %v, %t; want %v, %t", tt.value, got, ok, tt.want, tt.ok)
		}
	}
}

func FuzzParseRetryAfter(f *testing.F) {
	f.Add("120", int64(0))
	f.Add("Sun, 06 Nov 1994 08:49:37 GMT", int64(math.MinInt64))
	f.Add("-9", int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, value string, now int64) {
		d, ok := ParseRetryAfter(value, time.Unix(now, 0))
		if d < 0 || d > 24*time.Hour || !ok && d != 0 {
			t.Errorf("got %v, %t", d, ok)
		}
	})
}

type wait time.Duration

func (w wait) Error() string             { return "wait" }
func (w wait) RetryAfter() time.Duration { return time.Duration(w) }

func TestRetryAfterOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		err  error
		want time.Duration
	}{
		{"nil", nil, 0},
		{"no hint", errPlain, 0},
		{"marker", RetryAfter(errPlain, time.Minute), time.Minute},
		{"wrapped marker", fmt.Errorf("x: %w", Transient(RetryAfter(errPlain, time.Minute))), time.Minute},
		{"method", fmt.Errorf("x: %w", wait(time.Second)), time.Second},
		{"outermost", RetryAfter(wait(time.Hour), time.Second), time.Second},
		{"marker without a delay leaves it to what is inside", RetryAfter(wait(time.Hour), 0), time.Hour},
		{"longest of joined", errors.Join(wait(1), several{wait(3), RetryAfter(errPlain, 2)}), 3},
		{"negative", RetryAfter(wait(-1), -1), 0},
		{"too long", RetryAfter(errPlain, math.MaxInt64), 24 * time.Hour},
		{"typed nil", (*httpError)(nil), 0},
	} {
		got, ok := RetryAfterOf(tt.err)
		if got != tt.want || ok != (tt.want > 0) {
			t.Errorf("%s: got %v, %t; want %v", tt.name, got, ok, tt.want)
		}
	}
}

// An error that tells us to slow down costs no attempt; one that says more
// about itself keeps its class and its hint.
func TestRetryAfterMethodGivesClass(t *testing.T) {
	t.Parallel()
	if got := (Classifier{}).Classify(fmt.Errorf("x: %w", wait(1))); got != ClassRateLimited {
		t.Errorf("got %s", got)
	}
	if got := (Classifier{}).Classify(wait(0)); got != ClassTransient {
		t.Errorf("without a delay: got %s", got)
	}
	down := &httpError{status: 503, after: time.Minute}
	if got := (Classifier{}).Classify(down); got != ClassUnavailable {
		t.Errorf("503: got %s", got)
	}
	if got, _ := RetryAfterOf(down); got != time.Minute {
		t.Errorf("503: wait %v", got)
	}
}
