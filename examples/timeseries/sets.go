package main

import "slices"

// Set is the view of the streams that a sum is of. A stream is added to it in the
// transaction of its first points.
type Set struct {
	Streams []string `json:"streams"` // in order
}

// Added is the operation. Its id is the stream.
type Added struct {
	Stream string `json:"stream"`
}

func (s *Set) insert(stream string) {
	if i, there := slices.BinarySearch(s.Streams, stream); !there {
		s.Streams = slices.Insert(s.Streams, i, stream)
	}
}
