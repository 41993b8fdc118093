package memqueue

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/idem-go/idem/transports/internal/queue"
	"github.com/idem-go/idem/transports/internal/queue/queuetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBackend(t *testing.T) {
	queuetest.Run(t, func(*testing.T) queue.Backend { return New(1 << 20) })
}
