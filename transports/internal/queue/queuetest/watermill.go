package queuetest

import (
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/tests"

	"github.com/idem-go/idem/framework/idem"
)

// Watermill runs Watermill's universal suite. newTransport may return the same
// transport each time; it is closed by its owner.
//
// Left out are TestMessageCtx and TestReconnect. The first wants Close to
// cancel a message in hand, which [idem.SubscriberConfig] forbids; the second
// restarts a server.
func Watermill(t *testing.T, newTransport func(t *testing.T) idem.Transport) {
	inGroup := func(t *testing.T, group string) (message.Publisher, message.Subscriber) {
		tr := newTransport(t)
		// One message at a time and oldest first is what the suite calls order.
		// It also leaves one topic of a subscriber unread, hence the short lease.
		s, err := tr.Subscriber(idem.SubscriberConfig{Group: group, Ordered: true, Lease: 3 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		return tr.Publisher(), s
	}
	shared := func(t *testing.T) (message.Publisher, message.Subscriber) { return inGroup(t, "shared") }
	alone := func(t *testing.T) (message.Publisher, message.Subscriber) { return inGroup(t, watermill.NewUUID()) }

	type test = func(*testing.T, tests.TestContext, tests.PubSubConstructor)
	for _, c := range []struct {
		name        string
		test        test
		constructor tests.PubSubConstructor
	}{
		{"PublishSubscribe", tests.TestPublishSubscribe, shared},
		{"ConcurrentSubscribe", tests.TestConcurrentSubscribe, shared},
		{"ConcurrentSubscribeMultipleTopics", tests.TestConcurrentSubscribeMultipleTopics, shared},
		{"ResendOnError", tests.TestResendOnError, shared},
		{"NoAck", tests.TestNoAck, shared},
		{"ContinueAfterSubscribeClose", tests.TestContinueAfterSubscribeClose, shared},
		{"ConcurrentClose", tests.TestConcurrentClose, shared},
		{"ContinueAfterErrors", tests.TestContinueAfterErrors, shared},
		{"PublishSubscribeInOrder", tests.TestPublishSubscribeInOrder, shared},
		{"PublisherClose", tests.TestPublisherClose, shared},
		{"Topic", tests.TestTopic, shared},
		{"SubscribeCtx", tests.TestSubscribeCtx, shared},
		{"NewSubscriberReceivesOldMessages", tests.TestNewSubscriberReceivesOldMessages, alone},
		{"ConsumerGroups", func(t *testing.T, c tests.TestContext, _ tests.PubSubConstructor) {
			tests.TestConsumerGroups(t, c, inGroup)
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, tests.TestContext{
				TestID: tests.NewTestID(),
				Features: tests.Features{
					ConsumerGroups:                      true,
					GuaranteedOrder:                     true,
					GuaranteedOrderWithSingleSubscriber: true,
					Persistent:                          true,
					NewSubscriberReceivesOldMessages:    true,
					ForceShort:                          true,
				},
			}, c.constructor)
		})
	}
}
