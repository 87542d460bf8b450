package position

import (
	"fmt"
	"math"
)

// Writer is the small number that a backend gives to the name of a writer, from
// 1 to [MaxWriter]. Zero stands for a writer that is not known, as of facts that
// were stored before writers were recorded: such a fact is before a token if its
// number is at most the token's minimum.
type Writer uint32

// MaxWriter is the greatest number of a writer. It fits a signed column of four
// bytes.
const MaxWriter Writer = math.MaxInt32

func (w Writer) valid() bool { return w >= 1 && w <= MaxWriter }

// Epoch counts the lives of a writer: each time it joins it has a greater one.
// What it is raised by, a row or a lease, is the backend's business.
type Epoch uint64

// Position is the place of one fact: who wrote it, and its number. It is not a
// cut: that a fact is visible says nothing about those with lower numbers. The
// zero value is the start of a stream.
type Position struct {
	Writer Writer
	Number Number
}

// String returns <writer>.<number>, as it stands in a token.
func (p Position) String() string { return fmt.Sprintf("%d.%d", p.Writer, p.Number) }
