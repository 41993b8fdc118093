package docs

import (
	"strings"
	"testing"

	"github.com/idem-go/idem/gen/internal/model"
)

// Boxes keep apart and inside the drawing, and hold their text.
func TestBoxesKeepApart(t *testing.T) {
	t.Parallel()
	contracts := []*model.Contract{orders(), {}}
	for _, n := range []int{1, 2, 3, 10, 40, 200} {
		contracts = append(contracts, large(n))
	}
	for _, c := range contracts {
		f := newFlow(c)
		d := f.draw()
		if len(d.Boxes) != len(f.Nodes) || len(d.Lines) != len(f.Edges) {
			t.Fatalf("%d operations: %d of %d nodes and %d of %d edges are drawn",
				len(c.Operations), len(d.Boxes), len(f.Nodes), len(d.Lines), len(f.Edges))
		}
		for i, a := range d.Boxes {
			if a.X < 0 || a.Y < 0 || a.X+a.Width > d.Width || a.Y+a.Height > d.Height {
				t.Errorf("%s is outside the drawing", a.Label)
			}
			for _, b := range d.Boxes[:i] {
				if a.X < b.X+b.Width && b.X < a.X+a.Width && a.Y < b.Y+b.Height && b.Y < a.Y+a.Height {
					t.Errorf("%d operations: %s and %s overlap", len(c.Operations), a.Label, b.Label)
				}
			}
		}
	}
}

// Messages go from left to right, but for those that close a circle.
func TestLeftToRight(t *testing.T) {
	t.Parallel()
	f := newFlow(orders())
	at := map[string]int{}
	for _, b := range f.draw().Boxes {
		at[b.Label] = b.X
	}
	chain := []string{"placeOrder", "orders", "invoice", "askPayment", "invoices", "charge"}
	for i := 1; i < len(chain); i++ {
		if at[chain[i-1]] >= at[chain[i]] {
			t.Errorf("%s is not left of %s", chain[i-1], chain[i])
		}
	}

	circle := orders()
	circle.Operations[0].Emits = circle.Sends[1:] // back to the orders
	f = newFlow(circle)
	back := 0
	for _, turned := range f.backEdges() {
		if turned {
			back++
		}
	}
	if back != 1 {
		t.Errorf("%d edges are turned for one circle", back)
	}
	f.draw()
}

// A topic that is read is a topic, even if dead letters go there as well.
func TestDeadLettersThatAreRead(t *testing.T) {
	t.Parallel()
	c := orders()
	c.Operations[1].DeadLetterTopic = "invoices"
	for _, n := range newFlow(c).Nodes {
		if n.Label == "invoices" && n.Kind != topicNode {
			t.Errorf("invoices is drawn as %s", n.Kind)
		}
	}
}

func TestLongNamesAreCut(t *testing.T) {
	t.Parallel()
	b := newBox(&node{Label: strings.Repeat("ã", 500), Note: strings.Repeat("x", 500)})
	if b.Width > 400 || !strings.HasSuffix(b.Text, "…") || !strings.Contains(b.Title(), b.Label) {
		t.Errorf("a long name makes a box of %d pixels with %q", b.Width, b.Text)
	}
}
