package idem

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
)

type statusErr int

func (e statusErr) Error() string   { return fmt.Sprint("status ", int(e)) }
func (e statusErr) StatusCode() int { return int(e) }

// Only a sure word makes an external call repeatable.
func TestHadNoEffect(t *testing.T) {
	base := errors.New("x")
	var syntax error = &json.SyntaxError{}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"nothing known":                       {base, false},
		"marked":                              {fmt.Errorf("charge: %w", NotApplied(base)), true},
		"marked in one branch only":           {errors.Join(NotApplied(base), base), false},
		"declined by marker":                  {Permanent(base), true},
		"rate limited by marker":              {RetryAfter(base, 1), true},
		"ignored by marker":                   {Ignore(base), true},
		"bug by marker":                       {Bug(base), false},
		"404":                                 {fmt.Errorf("charge: %w", statusErr(404)), true},
		"429":                                 {statusErr(429), true},
		"408":                                 {statusErr(408), false},
		"409: it may be there already":        {statusErr(409), false},
		"503: somebody between us may say it": {statusErr(503), false},
		"an answer that does not parse":       {syntax, false},
		"a refusal and something unknown":     {errors.Join(statusErr(400), base), false},
	} {
		if got := (Classifier{}).hadNoEffect(tc.err); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
	if !(Classifier{Rules: []Rule{{Is: base, Class: ClassPermanent}}}).hadNoEffect(base) {
		t.Error("a rule's word does not count")
	}
}

func TestPolicyDefaultsAreStable(t *testing.T) {
	for _, p := range []Policy{{}, {Quick: -1, MaxDeliveries: -1}, {Quick: 3}} {
		once := p.WithDefaults()
		if twice := once.WithDefaults(); twice != once {
			t.Errorf("%+v changes to %+v", once, twice)
		}
	}
}
