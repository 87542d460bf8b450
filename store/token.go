package store

import (
	"fmt"

	"github.com/refold-go/refold/store/position"
)

// Token is a cut through the log of one store that a reader can carry: "at least
// this much". An append returns one. It is comparable and can be a map key; its
// text form is URL-safe, see [position.StoreToken]. The zero value is before
// everything, of any store.
type Token = position.StoreToken

// Incarnation tells one life of a store from all others. A backend draws it at
// random when it makes the store, and again when the store was restored from a
// backup; it is never 0.
type Incarnation = position.Incarnation

// Position is an operation's place in the whole log. The first is 1; 0 is
// before everything.
type Position = position.Number

// Writer is who appended an operation, in a store with many writers.
type Writer = position.Writer

// ParseToken reads what [Token.String] wrote. Errors: [ErrInvalid], which wraps a
// [position.TextError].
func ParseToken(text string) (Token, error) {
	token, err := position.ParseStoreToken(text)
	if err != nil {
		return Token{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return token, nil
}

// NewToken is for backends with one contiguous log: the token of all positions up
// to and including one; 0 is the token of the empty log, which is not the zero token.
func NewToken(of Incarnation, upTo Position) Token { return position.TokenAt(upTo).In(of) }

// CutOf is for backends with one contiguous log: it returns the position up to
// which the token goes, for the store that it belongs to, whose log ends at end.
// Errors: [ErrForeignToken], [*FutureTokenError]. A token with writers is of the
// future: this store has none.
func CutOf(token Token, of Incarnation, end Position) (Position, error) {
	cut, err := token.Cut(of)
	if err != nil {
		return 0, err
	}
	if cut.Max() > end || cut.Max() != cut.Min() {
		return 0, &FutureTokenError{Token: token, End: NewToken(of, end)}
	}
	return max(cut.Min(), 0), nil
}

// FutureTokenError says how far the log is. It is an [ErrFutureToken].
type FutureTokenError struct {
	Token Token
	// End covers all that is in the log.
	End Token
}

func (e *FutureTokenError) Error() string {
	return fmt.Sprintf("%v: %s, the end is %s", ErrFutureToken, e.Token, e.End)
}

// Is reports whether target is [ErrFutureToken].
func (e *FutureTokenError) Is(target error) bool { return target == ErrFutureToken }
