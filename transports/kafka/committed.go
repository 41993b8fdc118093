package kafka

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"github.com/idem-go/idem/framework/idem"
)

// committed tells a StepFunc which messages the group has really let go.
// sarama says nothing of a commit that succeeded, so the offsets are read back
// from the broker. There is one only where somebody wants to know; nil does
// nothing.
type committed struct {
	tell func(context.Context, idem.StepEvent)
	// read returns the group's offsets of these partitions.
	read func(partitions []int32) (map[int32]int64, error)
	// shut gives back what read uses.
	shut func()

	mu      sync.Mutex
	waiting map[int32][]finished
	stop    chan struct{}
	done    chan struct{}
}

// finished is an acked message whose offset is not known to be committed.
type finished struct {
	ctx    context.Context
	offset int64
	event  idem.StepEvent
}

// lookEvery is how often offsets are read back while some are awaited: as often
// as sarama commits them.
const lookEvery = 250 * time.Millisecond

func watchCommits(cfg Config, group idem.SubscriberConfig, topic string) *committed {
	if group.Step == nil {
		return nil
	}
	r := &offsetReader{cfg: cfg, group: group.Group, topic: topic}
	c := &committed{tell: group.Step, read: r.read, shut: r.close}
	c.start()
	return c
}

func (c *committed) start() {
	c.waiting, c.stop, c.done = map[int32][]finished{}, make(chan struct{}), make(chan struct{})
	go c.run()
}

func (c *committed) add(partition int32, d *delivery) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting[partition] = append(c.waiting[partition], finished{d.message.Context(), d.record.offset, d.event(idem.StepAcked)})
}

func (c *committed) run() {
	defer close(c.done)
	defer c.shut()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			c.look()
		case <-c.stop:
			c.look() // leaving the group has committed the rest
			return
		}
	}
}

// end looks a last time and waits until everything was told.
func (c *committed) end() {
	if c == nil {
		return
	}
	close(c.stop)
	<-c.done
}

func (c *committed) look() {
	c.mu.Lock()
	partitions := slices.Sorted(maps.Keys(c.waiting))
	c.mu.Unlock()
	if len(partitions) == 0 {
		return
	}
	offsets, err := c.read(partitions)
	if err != nil {
		return // the next look finds out
	}
	for _, f := range c.take(offsets) {
		c.tell(f.ctx, f.event)
	}
}

// take removes what lies below the committed offsets, lowest first.
func (c *committed) take(offsets map[int32]int64) (out []finished) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for partition, next := range offsets {
		var rest []finished
		for _, f := range c.waiting[partition] {
			if f.offset < next {
				out = append(out, f)
			} else {
				rest = append(rest, f)
			}
		}
		if c.waiting[partition] = rest; rest == nil {
			delete(c.waiting, partition)
		}
	}
	slices.SortFunc(out, func(a, b finished) int { return cmp.Compare(a.offset, b.offset) })
	return out
}

// offsetReader asks the broker, over a connection of its own that it opens when
// it is needed and again after an error. Used by one goroutine.
type offsetReader struct {
	cfg          Config
	group, topic string
	admin        sarama.ClusterAdmin
}

func (r *offsetReader) read(partitions []int32) (map[int32]int64, error) {
	if r.admin == nil {
		cfg := r.cfg.client()
		cfg.Metadata.Full = true // the admin client finds the coordinator that way
		admin, err := sarama.NewClusterAdmin(r.cfg.Brokers, r.cfg.tuned(cfg))
		if err != nil {
			return nil, err
		}
		r.admin = admin
	}
	found, err := r.admin.ListConsumerGroupOffsets(r.group, map[string][]int32{r.topic: partitions})
	if err != nil {
		r.close()
		return nil, err
	}
	offsets := map[int32]int64{}
	for partition, block := range found.Blocks[r.topic] {
		if block.Err != sarama.ErrNoError {
			return nil, fmt.Errorf("kafka: offset of %s/%d: %w", r.topic, partition, block.Err)
		}
		offsets[partition] = block.Offset // -1 if there is none
	}
	return offsets, nil
}

func (r *offsetReader) close() {
	if r.admin != nil {
		_ = r.admin.Close()
		r.admin = nil
	}
}
