package docs

import (
	"strconv"
	"strings"

	"github.com/idem-go/idem/gen/internal/model"
)

// kind is the kind of a node; it is a class of the page's style sheet, too.
type kind string

const (
	topicNode     kind = "topic"
	operationNode kind = "operation"
	sendNode      kind = "send"
	deadNode      kind = "dead"
)

// flow is how messages go: from topics to operations, through what these emit
// to topics, and to topics of dead letters.
type flow struct {
	Nodes []*node
	Edges []edge
}

type node struct {
	ID     string // unique, letters and digits
	Kind   kind
	Label  string
	Note   string // a second line
	Anchor string // of its section; "" is none
}

type edge struct {
	From, To int // indices of nodes
	Dead     bool
}

func newFlow(c *model.Contract) *flow {
	f := &flow{}
	topics, sends := map[string]int{}, map[*model.Send]int{}
	add := func(n node) int {
		n.ID = string(n.Kind[:1]) + strconv.Itoa(len(f.Nodes))
		f.Nodes = append(f.Nodes, &n)
		return len(f.Nodes) - 1
	}
	topic := func(address string, k kind) int {
		i, ok := topics[address]
		if !ok {
			i = add(node{Kind: k, Label: address})
			topics[address] = i
		}
		return i
	}
	// What is read or written is a topic, even if dead letters go there, too.
	for _, o := range c.Operations {
		topic(o.Topic, topicNode)
	}
	for _, s := range c.Sends {
		topic(s.Topic, topicNode)
	}
	for _, s := range c.Sends {
		sends[s] = add(node{Kind: sendNode, Label: s.ID, Note: messageNames(s.Messages), Anchor: anchor("send", s.ID)})
	}
	for _, o := range c.Operations {
		from := topics[o.Topic]
		op := add(node{Kind: operationNode, Label: o.ID, Note: messageNames(o.Messages), Anchor: anchor("operation", o.ID)})
		f.Edges = append(f.Edges, edge{From: from, To: op})
		for _, s := range o.Emits {
			f.Edges = append(f.Edges, edge{From: op, To: sends[s]})
		}
		if dead := deadLetterTopic(o); dead != "" {
			f.Edges = append(f.Edges, edge{From: op, To: topic(dead, deadNode), Dead: true})
		}
	}
	for _, s := range c.Sends {
		f.Edges = append(f.Edges, edge{From: sends[s], To: topics[s.Topic]})
	}
	return f
}

func messageNames(messages []*model.Message) string {
	names := make([]string, len(messages))
	for i, m := range messages {
		names[i] = m.Name
	}
	return strings.Join(names, ", ")
}

// Is tells the page's template the kind of a node.
func (n *node) Is(k string) bool { return string(n.Kind) == k }
