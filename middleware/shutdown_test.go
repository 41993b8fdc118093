package middleware_test

import (
	"runtime"

	"github.com/idem-go/idem/framework/deadletter"
)

var noOptions = deadletter.ReplayOptions{}

func goexit() { runtime.Goexit() }
