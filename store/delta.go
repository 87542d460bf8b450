package store

import (
	"encoding/binary"
	"fmt"
)

// Delta is the body of a delta of a derived collection with [Derivation.Deltas]: a
// contribution that came, went or changed. Those of others have an empty body, and so has
// one that tells of something else: of a contribution whose source was forgotten, before or
// since, or of what was read. What it says has to be made anew from all contributions.
type Delta struct {
	Contributor
	// Before and After are the contribution as it was and as it is; nil if there was
	// or is none.
	Before, After []byte
}

// AppendDelta appends the encoding of a delta: input, source, before and after, each with its
// length as an unsigned varint in front, lengths of contributions being one more, so
// that 0 is none.
func AppendDelta(b []byte, d Delta) []byte {
	b = binary.AppendUvarint(b, uint64(d.Input)) // #nosec G115 -- 0 or more
	b = binary.AppendUvarint(b, uint64(len(d.Source)))
	b = append(b, d.Source...)
	for _, body := range [][]byte{d.Before, d.After} {
		if body == nil {
			b = append(b, 0)
			continue
		}
		b = binary.AppendUvarint(b, uint64(len(body))+1)
		b = append(b, body...)
	}
	return b
}

// ParseDelta reads what AppendDelta wrote, and only that. The result shares memory with b.
// Errors: [ErrInvalid].
func ParseDelta(b []byte) (Delta, error) {
	var d Delta
	rest := b
	number := func() (uint64, bool) {
		v, n := binary.Uvarint(rest)
		if n <= 0 || n > 1 && rest[n-1] == 0 {
			return 0, false
		}
		rest = rest[n:]
		return v, true
	}
	bytes := func(n uint64) ([]byte, bool) {
		if n > uint64(len(rest)) {
			return nil, false
		}
		part := rest[:n:n]
		rest = rest[n:]
		return part, true
	}
	input, ok := number()
	ok = ok && input < MaxSources
	var part []byte
	if n, has := number(); ok && has {
		part, ok = bytes(n)
		d.Input, d.Source = int(input), string(part) // #nosec G115 -- less than MaxSources
	} else {
		ok = false
	}
	for _, body := range []*[]byte{&d.Before, &d.After} {
		n, has := number()
		if ok = ok && has; ok && n > 0 {
			*body, ok = bytes(n - 1)
		}
	}
	if !ok || len(rest) > 0 {
		return Delta{}, &InvalidError{Field: "delta", Got: fmt.Sprintf("%d bytes that are none", len(b)), Want: "what AppendDelta wrote"}
	}
	return d, nil
}
