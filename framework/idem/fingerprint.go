package idem

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Fingerprint says what of a message must be equal when its key is, so that a
// key reused for something else is noticed; see [ErrKeyReuse].
//
// The zero value compares the whole payload byte by byte. That is right for
// producers that send stored bytes again. Those that build the message anew
// may change the order of members, white space or a timestamp: for them name
// the values that matter in Pointers.
//
// Changing it makes a redelivery of a message processed before look like a
// reused key, for as long as that key is retained. Raise [KeyRecipe.Version]
// with it, and say in [KeyRecipe.Previous] what it was.
type Fingerprint struct {
	// None switches the comparison off.
	None bool
	// Pointers restricts it to the values at these JSON pointers, in any
	// order; "" is the whole document. White space and the order of members
	// do not matter. Numbers are compared by value, as in keys: 10 and 10.0 are
	// equal, and so are 10 and "10". A value that is absent differs
	// from one that is null.
	Pointers []string
}

// Validate returns everything that is wrong, joined.
func (f Fingerprint) Validate() error {
	var e fieldErrors
	e.check(!f.None || len(f.Pointers) == 0, "pointers", "must be empty when none is set")
	for i, p := range f.Pointers {
		problem := checkPointer(p)
		e.check(problem == "", fmt.Sprintf("pointers[%d]", i), "%s, is %q", problem, p)
	}
	return e.join()
}

// of returns the fingerprint of a payload, 32 hexadecimal digits, or "" for
// None. 128 bits are enough: a fingerprint is compared with the one stored
// under the same key only, so two contents would have to collide on purpose.
// With Pointers the payload must be JSON; the error then wraps errNotJSON.
func (f Fingerprint) of(payload []byte, doc *jsonDoc) (string, error) {
	if f.None {
		return "", nil
	}
	sum := sha256.Sum256(payload)
	if len(f.Pointers) > 0 {
		values := make(map[string]digest, len(f.Pointers))
		for _, p := range f.Pointers {
			d, err := doc.digest(p)
			if err != nil {
				return "", fmt.Errorf("idem: fingerprint of %q: %w", p, err)
			}
			values[p] = d
		}
		sum = digestOf(values)
	}
	return hex.EncodeToString(sum[:16]), nil
}
