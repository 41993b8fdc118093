package demo

import (
	"reflect"
	"slices"
	"testing"
)

// The seed decides everything, so a run that failed can be had again.
func TestPlanComesFromTheSeed(t *testing.T) {
	if !reflect.DeepEqual(newPlan(50, 7), newPlan(50, 7)) {
		t.Error("one seed, two plans")
	}
	if reflect.DeepEqual(newPlan(50, 7), newPlan(50, 8)) {
		t.Error("two seeds, one plan")
	}
}

// Each message comes one to three times, some under the same id and some under
// another, and a key is used again only after its order.
func TestPlanHasEveryKindOfCopy(t *testing.T) {
	p := newPlan(100, 1)
	copies, sameID, otherID := map[string]int{}, 0, 0
	ids := map[string]string{}
	for _, m := range p.messages[:len(p.messages)-reused] {
		copies[m.key]++
		switch id, again := ids[m.key]; {
		case !again:
			ids[m.key] = m.id
		case id == m.id:
			sameID++
		default:
			otherID++
		}
	}
	if want := 100 + malformed + missing + unknown; len(copies) != want || sameID == 0 || otherID == 0 {
		t.Errorf("%d messages (want %d), %d copies with the same id, %d with another", len(copies), want, sameID, otherID)
	}
	for key, n := range copies {
		if n < 1 || n > 3 {
			t.Errorf("%s comes %d times", key, n)
		}
	}
	for i, m := range p.messages[len(p.messages)-reused:] {
		first := slices.IndexFunc(p.messages, func(o delivery) bool { return o.key == m.key })
		if first < 0 || first >= len(p.messages)-reused+i || string(p.messages[first].body) == string(m.body) {
			t.Errorf("the key of %s was not used before with another amount", m.id)
		}
	}
}
