//go:build !race

package idemtest

import "time"

// patience is how long something that must happen may take.
const patience = 15 * time.Second
