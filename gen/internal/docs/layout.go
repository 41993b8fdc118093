package docs

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Sizes of a drawing, in pixels. Text is set in fonts of these sizes.
const (
	labelSize, noteSize = 13, 11
	maxLabel            = 34 // characters; more are cut off
	boxHeight           = 30
	noteHeight          = 16
	rowGap, columnGap   = 14, 64
	partGap             = 28 // between parts of the flow that have nothing to do with each other
	margin              = 6
	turnedOffset        = 9 // of lines from right to left, from the middle of a box
)

// drawing is a flow with a place for everything: in columns, so that messages
// go from left to right wherever they do not go round in circles. All numbers
// are whole, so that every machine draws the same.
type drawing struct {
	Width, Height int
	Boxes         []*box
	Lines         []line
}

// box is a node, or a place where a line passes a column.
type box struct {
	*node               // nil of a mere passage
	Text, Small         string
	X, Y, Width, Height int

	column      int
	left, right []*box
	order       int
}

type line struct {
	Path string
	Dead bool
}

// Middle is the height at which lines meet the box.
func (b *box) Middle() int { return b.Y + b.Height/2 }

// Title is the whole text, where some is cut off.
func (b *box) Title() string {
	return strings.TrimSuffix(b.Label+": "+b.Note, ": ")
}

// layout is the state of drawing one flow.
type layout struct {
	boxes   []*box // of the nodes, by their index
	columns [][]*box
	routes  [][]*box // the boxes that a line passes, by the edge's index
	turned  []bool   // edges that go from right to left
}

// draw lays out a flow.
func (f *flow) draw() *drawing {
	l := &layout{routes: make([][]*box, len(f.Edges)), turned: f.backEdges()}
	for _, n := range f.Nodes {
		l.boxes = append(l.boxes, newBox(n))
	}
	f.assignColumns(l)
	for i, e := range f.Edges {
		from, to := l.boxes[e.From], l.boxes[e.To]
		if l.turned[i] {
			from, to = to, from
		}
		l.route(i, from, to)
	}
	d := &drawing{}
	top := margin
	for _, part := range l.parts() {
		orderColumns(part)
		top = place(part, top) + partGap
	}
	d.Height = max(top-partGap, 0) + margin
	d.Width = l.spread()
	for _, column := range l.columns {
		slices.SortStableFunc(column, func(a, b *box) int { return cmp.Compare(a.Y, b.Y) })
		for _, b := range column {
			if b.node != nil {
				d.Boxes = append(d.Boxes, b)
			}
		}
	}
	for i, e := range f.Edges {
		d.Lines = append(d.Lines, line{Path: path(l.routes[i], l.turned[i]), Dead: e.Dead})
	}
	return d
}

func newBox(n *node) *box {
	b := &box{node: n, Text: cut(n.Label, maxLabel), Small: cut(n.Note, maxLabel), Height: boxHeight}
	// A character of the label's font, which has one width, is 0.6 of its size.
	width := columnsOf(b.Text) * labelSize * 6 / 10
	if b.Small != "" {
		b.Height += noteHeight
		width = max(width, columnsOf(b.Small)*noteSize*6/10)
	}
	b.Width = width + 28
	return b
}

// cut shortens text to n characters.
func cut(s string, n int) string {
	s = oneLine(s)
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// columnsOf counts wide characters twice.
func columnsOf(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r >= 0x1100 {
			n++
		}
	}
	return n
}

// backEdges finds the edges that close a circle.
func (f *flow) backEdges() []bool {
	back := make([]bool, len(f.Edges))
	out := make([][]int, len(f.Nodes))
	for i, e := range f.Edges {
		out[e.From] = append(out[e.From], i)
	}
	const open, done = 1, 2
	state := make([]int, len(f.Nodes))
	var visit func(int)
	visit = func(n int) {
		state[n] = open
		for _, i := range out[n] {
			switch to := f.Edges[i].To; state[to] {
			case open:
				back[i] = true
			case 0:
				visit(to)
			}
		}
		state[n] = done
	}
	for n := range f.Nodes {
		if state[n] == 0 {
			visit(n)
		}
	}
	return back
}

// assignColumns gives each node the first column that is right of all that
// lead to it; what nothing leads to stands just left of what it leads to.
func (f *flow) assignColumns(l *layout) {
	column := make([]int, len(f.Nodes))
	for changed := true; changed; {
		changed = false
		f.eachForward(l.turned, func(from, to int) {
			if column[to] <= column[from] {
				column[to], changed = column[from]+1, true
			}
		})
	}
	fed, next := make([]bool, len(f.Nodes)), make([]int, len(f.Nodes))
	f.eachForward(l.turned, func(from, to int) {
		fed[to] = true
		if next[from] == 0 || column[to] < next[from] {
			next[from] = column[to]
		}
	})
	for n, b := range l.boxes {
		if !fed[n] && next[n] > 0 {
			column[n] = next[n] - 1
		}
		b.column = column[n]
	}
}

func (f *flow) eachForward(turned []bool, do func(from, to int)) {
	for i, e := range f.Edges {
		if turned[i] {
			do(e.To, e.From)
		} else {
			do(e.From, e.To)
		}
	}
}

// route leads a line from a box to one further right, with a passage through
// each column between.
func (l *layout) route(edge int, from, to *box) {
	route := []*box{from}
	for c := from.column + 1; c < to.column; c++ {
		route = append(route, &box{column: c, Height: 1})
	}
	route = append(route, to)
	for i := 1; i < len(route); i++ {
		route[i-1].right = append(route[i-1].right, route[i])
		route[i].left = append(route[i].left, route[i-1])
	}
	l.routes[edge] = route
}

// parts returns the columns of each connected part, in the nodes' order, and
// fills l.columns.
func (l *layout) parts() [][][]*box {
	var parts [][][]*box
	seen := map[*box]bool{}
	for _, b := range l.boxes {
		if seen[b] {
			continue
		}
		var part [][]*box
		queue := []*box{b}
		seen[b] = true
		for len(queue) > 0 {
			b, queue = queue[0], queue[1:]
			for len(part) <= b.column {
				part = append(part, nil)
			}
			part[b.column] = append(part[b.column], b)
			for _, next := range slices.Concat(b.right, b.left) {
				if !seen[next] {
					seen[next] = true
					queue = append(queue, next)
				}
			}
		}
		parts = append(parts, part)
		for c, column := range part {
			for len(l.columns) <= c {
				l.columns = append(l.columns, nil)
			}
			l.columns[c] = append(l.columns[c], column...)
		}
	}
	return parts
}

// orderColumns sorts each column by where its neighbours are, to and fro, so
// that few lines cross.
func orderColumns(part [][]*box) {
	for _, column := range part {
		for i, b := range column {
			b.order = i
		}
	}
	for range 8 {
		for _, column := range part {
			orderColumn(column, func(b *box) []*box { return b.left })
		}
		for i := len(part) - 1; i >= 0; i-- {
			orderColumn(part[i], func(b *box) []*box { return b.right })
		}
	}
}

// orderColumn sorts the boxes that have neighbours on that side; the others
// stay where they are.
func orderColumn(column []*box, near func(*box) []*box) {
	var places []int
	var moving []*box
	for i, b := range column {
		if len(near(b)) > 0 {
			places, moving = append(places, i), append(moving, b)
		}
	}
	order := func(b *box) int { return b.order }
	slices.SortStableFunc(moving, func(a, b *box) int {
		sa, na := sum(near(a), a, order)
		sb, nb := sum(near(b), b, order)
		return cmp.Compare(sa*nb, sb*na)
	})
	for i, b := range moving {
		column[places[i]], b.order = b, places[i]
	}
}

// sum adds up a measure of boxes, or that of the box itself if there are none.
func sum(boxes []*box, self *box, measure func(*box) int) (total, n int) {
	for _, b := range boxes {
		total += measure(b)
	}
	if len(boxes) == 0 {
		return measure(self), 1
	}
	return total, len(boxes)
}
