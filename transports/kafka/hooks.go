package kafka

import (
	"log/slog"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill"
)

// hooks is a watermill-kafka tracer that changes nothing. Publisher and
// subscription embed it and replace the one hook they need: that is how we get
// hold of sarama's producer and of the consumer group's claims.
type hooks struct{}

func (hooks) WrapConsumer(c sarama.Consumer) sarama.Consumer { return c }

func (hooks) WrapPartitionConsumer(c sarama.PartitionConsumer) sarama.PartitionConsumer { return c }

func (hooks) WrapConsumerGroupHandler(h sarama.ConsumerGroupHandler) sarama.ConsumerGroupHandler {
	return h
}

func (hooks) WrapSyncProducer(_ *sarama.Config, p sarama.SyncProducer) sarama.SyncProducer { return p }

// adapt gives watermill-kafka a logger. What it calls information is detail
// to an application.
func adapt(l *slog.Logger) watermill.LoggerAdapter {
	return watermill.NewSlogLoggerWithLevelMapping(l, map[slog.Level]slog.Level{
		slog.LevelInfo: slog.LevelDebug,
	})
}
