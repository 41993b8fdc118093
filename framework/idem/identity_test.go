package idem

import (
	"context"
	"slices"
	"testing"
)

// claims is a transaction that only notes in what order keys are claimed.
type claims struct {
	Tx
	keys []string
}

func (c *claims) Claim(_ context.Context, cl Claim) (Record, error) {
	c.keys = append(c.keys, cl.Key)
	return Record{}, nil
}

func (c *claims) ClaimAll(ctx context.Context, cs []Claim) ([]Record, error) {
	for _, cl := range cs {
		_, _ = c.Claim(ctx, cl)
	}
	return make([]Record, len(cs)), nil
}

// Programs whose recipes come in different orders claim the keys that they have
// in common in one order: else two of them could wait for each other.
func TestKeysAreClaimedInOneOrder(t *testing.T) {
	for _, keys := range [][]string{{"b", "a", "c"}, {"c", "b", "a"}, {"b", "c"}} {
		tx := &claims{}
		a := &Attempt{Consumer: &Consumer{}}
		for _, key := range keys {
			a.keys = append(a.keys, messageKey{text: key})
		}
		if _, err := a.hold(t.Context(), tx, "t"); err != nil {
			t.Fatal(err)
		}
		if !slices.IsSorted(tx.keys) || len(tx.keys) != len(keys) {
			t.Errorf("keys %v were claimed as %v", keys, tx.keys)
		}
		if a.Key != keys[0] {
			t.Errorf("a new message of the keys %v goes by %q, want its own", keys, a.Key)
		}
	}
}

func TestKeyRecipeValidatesPrevious(t *testing.T) {
	parts := []KeyPart{{Pointer: "/id"}}
	v := func(version int) KeyRecipe { return KeyRecipe{Version: version, Parts: parts} }
	for name, test := range map[string]struct {
		version  int
		previous []KeyRecipe
		ok       bool
	}{
		"one":               {2, []KeyRecipe{v(1)}, true},
		"zero is one":       {2, []KeyRecipe{v(0)}, true},
		"several":           {5, []KeyRecipe{v(3), v(1)}, true},
		"same version":      {1, []KeyRecipe{v(0)}, false},
		"newer":             {2, []KeyRecipe{v(3)}, false},
		"oldest first":      {5, []KeyRecipe{v(1), v(3)}, false},
		"twice":             {5, []KeyRecipe{v(3), v(3)}, false},
		"broken":            {2, []KeyRecipe{{Version: 1}}, false},
		"with own previous": {3, []KeyRecipe{{Version: 2, Parts: parts, Previous: []KeyRecipe{v(1)}}}, false},
	} {
		r := KeyRecipe{Version: test.version, Parts: parts, Previous: test.previous}
		if err := r.Validate(); (err == nil) != test.ok {
			t.Errorf("%s: %v, want ok %v", name, err, test.ok)
		}
	}
}
