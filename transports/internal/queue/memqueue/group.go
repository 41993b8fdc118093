package memqueue

import (
	"container/list"
	"time"
)

// delivery is a message that one group has not acknowledged.
type delivery struct {
	msg     *stored
	attempt int
	token   string    // of the lease; "" when there is none
	due     time.Time // end of the lease or of the delay
	heap    *heapOf[*delivery]
	index   int           // in heap
	place   *list.Element // in all
	turn    *list.Element // place among the deliveries of its key
}

// group keeps what it may hand out in ready, by age, and what is leased or
// delayed in later, by time. When it is ordered, a delivery behind an older one
// of its key is in neither, so that a claim never looks at it.
type group struct {
	ordered bool
	all     *list.List // oldest first
	byID    map[int64]*delivery
	keys    map[string]*list.List
	ready   heapOf[*delivery]
	later   heapOf[*delivery]
}

func newGroup() *group {
	moved := func(d *delivery, i int) { d.index = i }
	return &group{
		all:   list.New(),
		byID:  make(map[int64]*delivery),
		keys:  make(map[string]*list.List),
		ready: heapOf[*delivery]{less: func(a, b *delivery) bool { return a.msg.id < b.msg.id }, moved: moved},
		later: heapOf[*delivery]{less: func(a, b *delivery) bool { return a.due.Before(b.due) }, moved: moved},
	}
}

func (g *group) add(s *stored, now time.Time) {
	d := &delivery{msg: s, due: s.at}
	s.waiting++
	g.byID[s.id] = d
	d.place = g.all.PushBack(d)
	if s.Key != nil {
		line := g.keys[string(s.Key)]
		if line == nil {
			line = list.New()
			g.keys[string(s.Key)] = line
		}
		d.turn = line.PushBack(d)
	}
	g.sort(d, now)
}

func (g *group) remove(d *delivery, now time.Time) {
	d.leave()
	d.msg.waiting--
	delete(g.byID, d.msg.id)
	g.all.Remove(d.place)
	if d.turn == nil {
		return
	}
	line := g.keys[string(d.msg.Key)]
	line.Remove(d.turn)
	if line.Len() == 0 {
		delete(g.keys, string(d.msg.Key))
		return
	}
	g.sort(line.Front().Value.(*delivery), now)
}

// sort puts d where it belongs.
func (g *group) sort(d *delivery, now time.Time) {
	d.leave()
	switch {
	case g.ordered && d.turn != nil && d.turn.Prev() != nil:
		return
	case d.due.After(now):
		d.heap = &g.later
	default:
		d.heap = &g.ready
	}
	d.heap.push(d)
}

func (d *delivery) leave() {
	if d.heap != nil {
		d.heap.remove(d.index)
		d.heap = nil
	}
}

// claim leases up to n deliveries.
func (g *group) claim(n int, ordered bool, now time.Time, lease time.Duration) []*delivery {
	if g.ordered != ordered {
		g.ordered = ordered
		for _, d := range g.byID {
			g.sort(d, now)
		}
	}
	for d, ok := g.later.peek(); ok && !d.due.After(now); d, ok = g.later.peek() {
		g.sort(d, now)
	}
	var out []*delivery
	for len(out) < n && g.ready.Len() > 0 {
		d, _ := g.ready.peek()
		d.attempt++
		d.due = now.Add(lease)
		g.sort(d, now)
		out = append(out, d)
	}
	return out
}

func (g *group) release(d *delivery, counted bool, due, now time.Time) {
	d.token, d.due = "", due
	if !counted {
		d.attempt--
	}
	g.sort(d, now)
}

// nextDue is when something becomes due; in the past when something just has.
func (g *group) nextDue() (at time.Time, ok bool) {
	d, ok := g.later.peek()
	if !ok {
		return at, false
	}
	return d.due, true
}

// oldest is when the oldest delivery was published.
func (g *group) oldest() (at time.Time, ok bool) {
	e := g.all.Front()
	if e == nil {
		return at, false
	}
	return e.Value.(*delivery).msg.at, true
}
