package queue

import (
	"context"
	"errors"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
)

// Transport is an [idem.Transport] over a [Backend].
type Transport struct {
	name string
	b    Backend
	o    Options
}

// NewTransport returns the transport called name over b. It owns b: Close
// closes it.
func NewTransport(name string, b Backend, o Options) (*Transport, error) {
	o = o.withDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &Transport{name: name, b: b, o: o}, nil
}

var errTODO = errors.New("queue: not yet written")

func (t *Transport) Name() string                    { return t.name }
func (t *Transport) Capabilities() idem.Capabilities { return idem.Capabilities{} }
func (t *Transport) Publisher() message.Publisher    { return nil }
func (t *Transport) Subscriber(idem.SubscriberConfig) (message.Subscriber, error) {
	return nil, errTODO
}
func (t *Transport) EnsureTopics(context.Context, ...string) error { return nil }
func (t *Transport) Ping(ctx context.Context) error                { return t.b.Ping(ctx) }
func (t *Transport) Close() error                                  { return t.b.Close() }
