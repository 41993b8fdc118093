package idem

import "testing"

func TestCause(t *testing.T) {
	known := Record{Status: StatusDone, Fingerprint: "f", MessageID: "m", Source: "orders@0/7"}
	for name, tc := range map[string]struct {
		a    Attempt
		want Cause
	}{
		"same position":              {Attempt{MessageID: "m", Topic: "orders", Position: "0/7", Delivery: &Delivery{}}, CauseRedelivery},
		"same position, new session": {Attempt{MessageID: "m", Topic: "orders", Position: "0/7", Delivery: &Delivery{NewSession: true}}, CauseRebalance},
		"other position":             {Attempt{MessageID: "m", Topic: "orders", Position: "0/9", Delivery: &Delivery{NewSession: true}}, CauseProducer},
		"other topic":                {Attempt{MessageID: "m", Topic: "orders2", Position: "0/7", Delivery: &Delivery{}}, CauseProducer},
		"no positions, same id":      {Attempt{MessageID: "m", Topic: "orders"}, CauseRedelivery},
		"no positions, other id":     {Attempt{MessageID: "n", Topic: "orders"}, CauseProducer},
		"no positions, no id":        {Attempt{Topic: "orders"}, CauseProducer},
		"replayed":                   {Attempt{MessageID: "m", Topic: "orders", Position: "0/7", replays: 1}, CauseReplay},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.a.causeOf(known); got != tc.want {
				t.Errorf("cause %q, want %q", got, tc.want)
			}
		})
	}
}
