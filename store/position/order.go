package position

// Order is how two tokens stand to each other. Tokens are only partly ordered:
// of two, each may have something that the other lacks.
type Order uint8

// The orders. The zero value is Unordered.
const (
	Unordered Order = iota // each has something that the other lacks
	Before                 // the first has less
	Equal                  // they are the same cut
	After                  // the first has more
)

func (o Order) String() string {
	return [...]string{"unordered", "before", "equal", "after"}[min(o, After)]
}

// AtMost reports whether everything in t is also in u.
func (t Token) AtMost(u Token) bool {
	if t.min > u.min {
		return false
	}
	for p := range t.Ahead() {
		if !u.Includes(p) {
			return false
		}
	}
	return true
}

// Compare says how t stands to u.
func (t Token) Compare(u Token) Order {
	switch {
	case t == u:
		return Equal
	case t.AtMost(u):
		return Before
	case u.AtMost(t):
		return After
	}
	return Unordered
}

// Join returns the least token that has everything in t and everything in u.
func (t Token) Join(u Token) Token {
	switch {
	case t.AtMost(u):
		return u
	case u.AtMost(t):
		return t
	}
	joined := Token{min: max(t.min, u.min)}
	var packed packer
	i, j := 0, 0
	for i < t.ahead.len() || j < u.ahead.len() {
		var p Position
		switch {
		case j == u.ahead.len() || i < t.ahead.len() && t.ahead.at(i).Writer < u.ahead.at(j).Writer:
			p = t.ahead.at(i)
			i++
		case i == t.ahead.len() || t.ahead.at(i).Writer > u.ahead.at(j).Writer:
			p = u.ahead.at(j)
			j++
		default:
			p = t.ahead.at(i)
			p.Number = max(p.Number, u.ahead.at(j).Number)
			i++
			j++
		}
		if p.Number > joined.min {
			packed.add(p)
		}
	}
	joined.ahead = packed.done()
	return joined
}

// With returns the least token that has everything in t and everything of the
// writer of p up to p. It makes what a writer carries to read its own writes.
// A position of no known writer adds everything up to its number, as nothing
// less is sure to have it.
func (t Token) With(p Position) Token {
	if !p.Writer.valid() {
		return t.Join(Token{min: p.Number})
	}
	if t.Includes(p) {
		return t
	}
	return t.Join(Token{min: t.min, ahead: entries{first: p}})
}

// Bound returns the token of what is in t and not above a number. It cuts back a
// token from the future, which a reader would wait for without end, to what can
// have been reserved. Go on with the token that it returns and with no other:
// waiting for one and reading with the other loses facts.
func (t Token) Bound(highest Number) Token {
	if t.min >= highest {
		return Token{min: highest}
	}
	if t.Max() <= highest {
		return t
	}
	var packed packer
	for p := range t.Ahead() {
		p.Number = min(p.Number, highest)
		packed.add(p)
	}
	return Token{min: t.min, ahead: packed.done()}
}
