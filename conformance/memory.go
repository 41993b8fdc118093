package conformance

import (
	"context"
	"strings"
	"time"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/memory"
)

const effectPrefix = "effect:"

// MemoryStore returns a store in memory with its effects, for a harness whose
// transport is what is tested. Processes of one place share it.
func MemoryStore() (idem.Store, Effects) {
	s := memory.New(memory.Config{ClaimWait: 200 * time.Millisecond})
	return s, MemoryEffects(s)
}

// MemoryEffects returns the effects of a store in memory.
func MemoryEffects(s *memory.Store) Effects {
	return Effects{
		Add: func(ctx context.Context, id string) error {
			memory.TxFrom(ctx).Add(effectPrefix+id, 1)
			return nil
		},
		Count: func(context.Context) (map[string]int, error) {
			out := map[string]int{}
			for counter, n := range s.Sums() {
				if id, ok := strings.CutPrefix(counter, effectPrefix); ok {
					out[id] = int(n)
				}
			}
			return out, nil
		},
	}
}
