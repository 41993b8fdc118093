package matrix

import (
	"errors"
	"testing"

	"go.uber.org/goleak"
)

var errBlip = errors.New("blip")

func TestMain(m *testing.M) {
	runChild()
	goleak.VerifyTestMain(m, // one for each process, started by a dependency of sarama
		goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}
