package idem

import "time"

// Presence is what one instance of an application says of one of its consumers.
type Presence struct {
	Consumer string `json:"consumer"`
	// Instance tells processes apart: host, process id and a random part.
	Instance string `json:"instance"`
	// State is running, paused, held (for a window: a dependency or the store
	// is down), draining or stopped; Reason says why.
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	// InFlight counts messages that are being handled.
	InFlight int64 `json:"inFlight"`
	// Breaker is the state of the dependency's circuit breaker, "" without one.
	Breaker string `json:"breaker,omitempty"`
	// Settled counts deliveries by outcome since the start.
	Settled map[Kind]int64 `json:"settled,omitempty"`
	// PerSecond is the rate of deliveries and P95 the time that 95 % of them
	// took at most, over the last moments; 0 without any.
	PerSecond float64       `json:"perSecond"`
	P95       time.Duration `json:"p95"`
	// Backlog counts messages that this group has not acknowledged, Oldest is
	// the age of the oldest; -1 where the transport does not say.
	Backlog int           `json:"backlog"`
	Oldest  time.Duration `json:"oldest"`
	// StartedAt is by the instance's clock.
	StartedAt time.Time `json:"startedAt"`
	// SeenAt and Age are the database's: when it was written, how long ago.
	SeenAt time.Time     `json:"seenAt"`
	Age    time.Duration `json:"age"`
	// Declared is what the instance was configured with.
	Declared Declaration `json:"declared"`
}

// The states of a [Presence].
const (
	StateRunning  = "running"
	StatePaused   = "paused"
	StateHeld     = "held"
	StateDraining = "draining"
	StateStopped  = "stopped"
)

// Declaration is what tools outside the program must know of a consumer.
type Declaration struct {
	Transport       string        `json:"transport"`
	Group           string        `json:"group"`
	Topic           string        `json:"topic"`
	RetryTopic      string        `json:"retryTopic"`
	DeadLetterTopic string        `json:"deadLetterTopic,omitempty"`
	Emits           []string      `json:"emits,omitempty"`
	External        bool          `json:"external"`
	Concurrency     int           `json:"concurrency"`
	Retention       time.Duration `json:"retention"`
	MaxAttempts     int           `json:"maxAttempts"`
	MaxDeliveries   int           `json:"maxDeliveries"`
	MaxBackoff      time.Duration `json:"maxBackoff"`
	Timeout         time.Duration `json:"timeout"`
	// SourceRetention and SourceMaxDeliveries are the transport's.
	SourceRetention     time.Duration `json:"sourceRetention"`
	SourceMaxDeliveries int           `json:"sourceMaxDeliveries"`
	// StoreConns is the size of the store's pool, 0 if unknown.
	StoreConns int `json:"storeConns,omitempty"`
}
