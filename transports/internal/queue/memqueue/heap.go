package memqueue

import "container/heap"

// heapOf is a heap that tells each item where it is, so that an item can be
// taken out of the middle.
type heapOf[T any] struct {
	items []T
	less  func(a, b T) bool
	moved func(item T, index int)
}

func (h *heapOf[T]) Len() int           { return len(h.items) }
func (h *heapOf[T]) Less(i, j int) bool { return h.less(h.items[i], h.items[j]) }
func (h *heapOf[T]) Swap(i, j int) {
	h.items[i], h.items[j] = h.items[j], h.items[i]
	h.moved(h.items[i], i)
	h.moved(h.items[j], j)
}

// Push is for container/heap; use push.
func (h *heapOf[T]) Push(x any) {
	h.items = append(h.items, x.(T))
	h.moved(x.(T), len(h.items)-1)
}

// Pop is for container/heap; use pop.
func (h *heapOf[T]) Pop() any {
	var none T
	last := len(h.items) - 1
	x := h.items[last]
	h.items[last] = none
	h.items = h.items[:last]
	return x
}

func (h *heapOf[T]) push(x T)       { heap.Push(h, x) }
func (h *heapOf[T]) pop() T         { return heap.Pop(h).(T) }
func (h *heapOf[T]) remove(i int) T { return heap.Remove(h, i).(T) }

func (h *heapOf[T]) peek() (x T, ok bool) {
	if len(h.items) == 0 {
		return x, false
	}
	return h.items[0], true
}
