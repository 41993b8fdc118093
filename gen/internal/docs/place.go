package docs

import (
	"fmt"
	"strings"
)

// place gives each box of a part its height on the page, below top, and
// returns where the part ends. Boxes move towards the middle of their
// neighbours as far as the order and the gaps let them.
func place(part [][]*box, top int) int {
	for _, column := range part {
		y := 0
		for _, b := range column {
			b.Y = y
			y += b.Height + rowGap
		}
	}
	for range 8 {
		for _, column := range part {
			settle(column, func(b *box) []*box { return b.left })
		}
		for i := len(part) - 1; i >= 0; i-- {
			settle(part[i], func(b *box) []*box { return b.right })
		}
	}
	first, last := 1<<30, -1<<30
	for _, column := range part {
		for _, b := range column {
			first, last = min(first, b.Y), max(last, b.Y+b.Height)
		}
	}
	for _, column := range part {
		for _, b := range column {
			b.Y += top - first
		}
	}
	return top + last - first
}

// settle moves the boxes of a column as near as can be, in the least squares
// sense, to the middle of their neighbours without changing their order. Once
// the gaps are taken off, that is isotonic regression: neighbours that would
// overlap form a block, which stands at the mean of what its boxes wish.
func settle(column []*box, near func(*box) []*box) {
	type block struct{ sum, n, boxes int }
	var blocks []block
	offset := 0
	offsets := make([]int, len(column))
	for i, b := range column {
		offsets[i] = offset
		offset += b.Height + rowGap
		total, n := sum(near(b), b, (*box).Middle)
		wish := total/n - b.Height/2 - offsets[i]
		blocks = append(blocks, block{sum: wish, n: 1, boxes: 1})
		for len(blocks) > 1 {
			last, before := blocks[len(blocks)-1], blocks[len(blocks)-2]
			if before.sum*last.n <= last.sum*before.n {
				break
			}
			blocks = blocks[:len(blocks)-1]
			blocks[len(blocks)-1] = block{before.sum + last.sum, before.n + last.n, before.boxes + last.boxes}
		}
	}
	i := 0
	for _, bl := range blocks {
		for range bl.boxes {
			column[i].Y = bl.sum/bl.n + offsets[i]
			i++
		}
	}
}

// spread gives each column its place and width, and returns the width of all.
func (l *layout) spread() int {
	x := margin
	for _, column := range l.columns {
		width := 0
		for _, b := range column {
			width = max(width, b.Width)
		}
		for _, b := range column {
			b.X, b.Width = x, width
		}
		x += width + columnGap
	}
	return max(x-columnGap, 0) + margin
}

// path draws a line along its route, from the right if the edge is turned:
// then it meets the boxes lower down, so as not to look like one that goes on.
func path(route []*box, turned bool) string {
	var points [][2]int
	for i, b := range route {
		y := b.Middle()
		if turned && b.node != nil {
			y += turnedOffset
		}
		if i > 0 {
			points = append(points, [2]int{b.X, y})
		}
		if i < len(route)-1 {
			points = append(points, [2]int{b.X + b.Width, y})
		}
	}
	if turned {
		for i, j := 0, len(points)-1; i < j; i, j = i+1, j-1 {
			points[i], points[j] = points[j], points[i]
		}
	}
	var s strings.Builder
	fmt.Fprintf(&s, "M%d %d", points[0][0], points[0][1])
	for i := 1; i < len(points); i++ {
		from, to := points[i-1], points[i]
		if from[1] == to[1] {
			fmt.Fprintf(&s, "H%d", to[0])
			continue
		}
		half := (from[0] + to[0]) / 2
		fmt.Fprintf(&s, "C%d %d %d %d %d %d", half, from[1], half, to[1], to[0], to[1])
	}
	return s.String()
}
