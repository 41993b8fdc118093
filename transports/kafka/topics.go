package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/IBM/sarama"
)

// EnsureTopics returns nil when all topics can be used. Missing ones are
// created if CreateTopics allows it; else the error names each of them.
func (t *Transport) EnsureTopics(ctx context.Context, topics ...string) error {
	if len(topics) == 0 {
		return nil
	}
	return inTime(ctx, func() error {
		cfg := t.cfg.client()
		cfg.Metadata.Full = true // the admin client finds the controller that way
		admin, err := sarama.NewClusterAdmin(t.cfg.Brokers, t.cfg.tuned(cfg))
		if err != nil {
			return fmt.Errorf("kafka: ensure topics: connect: %w", err)
		}
		return errors.Join(t.ensure(ctx, admin, topics), admin.Close())
	})
}

func (t *Transport) ensure(ctx context.Context, admin sarama.ClusterAdmin, topics []string) error {
	missing, _, err := inspect(admin, topics)
	if err != nil {
		return err
	}
	if len(missing) > 0 && !t.cfg.CreateTopics {
		return fmt.Errorf("kafka: topics do not exist: %q; create them, or set CreateTopics in kafka.Config", missing)
	}
	for _, topic := range missing {
		err := admin.CreateTopic(topic, &sarama.TopicDetail{
			NumPartitions: t.cfg.Partitions, ReplicationFactor: t.cfg.ReplicationFactor,
		}, false)
		if err != nil && !errors.Is(err, sarama.ErrTopicAlreadyExists) { // another process was faster
			return fmt.Errorf("kafka: create topic %q: %w", topic, err)
		}
	}
	for {
		missing, starting, err := inspect(admin, topics)
		if err != nil {
			return err
		}
		waiting := slices.Concat(missing, starting)
		if len(waiting) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("kafka: topics %q have no leader yet: %w", waiting, context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// inspect sorts out the topics that do not exist and those without a leader.
func inspect(admin sarama.ClusterAdmin, topics []string) (missing, starting []string, err error) {
	found, err := admin.DescribeTopics(topics)
	if err != nil {
		return nil, nil, fmt.Errorf("kafka: describe topics: %w", err)
	}
	for _, topic := range found {
		switch topic.Err {
		case sarama.ErrNoError:
			if len(topic.Partitions) == 0 || slices.ContainsFunc(topic.Partitions, leaderless) {
				starting = append(starting, topic.Name)
			}
		case sarama.ErrUnknownTopicOrPartition:
			missing = append(missing, topic.Name)
		case sarama.ErrLeaderNotAvailable:
			starting = append(starting, topic.Name)
		default:
			return nil, nil, fmt.Errorf("kafka: topic %q: %w", topic.Name, topic.Err)
		}
	}
	return missing, starting, nil
}

func leaderless(p *sarama.PartitionMetadata) bool { return p.Leader < 0 }
