package position

// heap keeps the slot with the least number on top, and knows where each slot is,
// so that any can be moved or taken out.
type heap[T any] []*slot[T]

// slot is a place in one heap at most.
type slot[T any] struct {
	number Number
	owner  T
	place  int // place in the heap plus one, or 0 if it is in none
}

func (h heap[T]) top() *slot[T] {
	if len(h) == 0 {
		return nil
	}
	return h[0]
}

// put puts a slot in with a number, or moves it if it is in already.
func (h *heap[T]) put(s *slot[T], n Number) {
	s.number = n
	if s.place == 0 {
		*h = append(*h, s)
		s.place = len(*h)
	}
	h.sift(s)
}

// remove takes a slot out, if it is in.
func (h *heap[T]) remove(s *slot[T]) {
	if s.place == 0 {
		return
	}
	last := (*h)[len(*h)-1]
	h.set(s.place-1, last)
	(*h)[len(*h)-1] = nil
	*h = (*h)[:len(*h)-1]
	s.place = 0
	if last != s {
		h.sift(last)
	}
}

func (h heap[T]) set(i int, s *slot[T]) {
	h[i] = s
	s.place = i + 1
}

// sift moves a slot up or down to where it belongs.
func (h heap[T]) sift(s *slot[T]) {
	i := s.place - 1
	for i > 0 && h[(i-1)/2].number > s.number {
		h.set(i, h[(i-1)/2])
		i = (i - 1) / 2
	}
	for {
		child := 2*i + 1
		if child+1 < len(h) && h[child+1].number < h[child].number {
			child++
		}
		if child >= len(h) || h[child].number >= s.number {
			break
		}
		h.set(i, h[child])
		i = child
	}
	h.set(i, s)
}
