package tokens

import "container/heap"

// symbols is a text on its way from characters to tokens: a doubly linked list
// of neighbouring pieces, of which the best pair is merged until none is left.
type symbols struct {
	items []symbol
	queue mergeQueue
}

type symbol struct {
	start, end int32 // bytes of the text; start == end once merged away
	prev, next int32 // indices into items; -1 at the ends
	id         int32 // what the symbol is, to the algorithm
}

// candidate is a possible merge of two neighbours. Candidates outdated by
// another merge stay in the queue and are recognised by their ends.
type candidate struct {
	priority    float32 // higher is merged first
	left, right int32
	end         int32 // of the right symbol when the candidate was made
	id          int32 // of the merged symbol
}

type mergeQueue []candidate

func (q mergeQueue) Len() int { return len(q) }
func (q mergeQueue) Less(i, j int) bool {
	if q[i].priority != q[j].priority {
		return q[i].priority > q[j].priority
	}
	return q[i].left < q[j].left
}
func (q mergeQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *mergeQueue) Push(x any)   { *q = append(*q, x.(candidate)) }
func (q *mergeQueue) Pop() any {
	last := len(*q) - 1
	c := (*q)[last]
	*q = (*q)[:last]
	return c
}

// add appends a symbol for the bytes from the last symbol's end to end.
func (s *symbols) add(end int, id int32) {
	n := int32(len(s.items))
	item := symbol{end: int32(end), prev: n - 1, next: -1, id: id}
	if n > 0 {
		item.start = s.items[n-1].end
		s.items[n-1].next = n
	}
	s.items = append(s.items, item)
}

// merge joins neighbours as long as pair allows, best first and leftmost among
// equals. pair says for two neighbours what they become and how soon.
func (s *symbols) merge(pair func(left, right symbol) (id int32, priority float32, ok bool)) {
	consider := func(left, right int32) {
		if left < 0 || right < 0 {
			return
		}
		if id, priority, ok := pair(s.items[left], s.items[right]); ok {
			heap.Push(&s.queue, candidate{priority, left, right, s.items[right].end, id})
		}
	}
	for i := 1; i < len(s.items); i++ {
		consider(int32(i-1), int32(i))
	}
	for len(s.queue) > 0 {
		c := heap.Pop(&s.queue).(candidate)
		left, right := &s.items[c.left], &s.items[c.right]
		// A symbol that grew or vanished since makes the candidate void.
		if left.start == left.end || right.start == right.end || left.next != c.right || right.end != c.end || left.end != right.start {
			continue
		}
		left.end, left.next, left.id = right.end, right.next, c.id
		right.start = right.end
		if right.next >= 0 {
			s.items[right.next].prev = c.left
		}
		consider(left.prev, c.left)
		consider(c.left, left.next)
	}
}
