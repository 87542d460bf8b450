package store

import "math"

// Following is for backends: it is where a loop of [Feed.Changes] is.
//
// The views of a generation that is built get their numbers beside those of the one
// that is served, so that a follower may be beyond them when it is switched to. After
// a switch, whose own number is greater than all before it, the loop therefore goes
// through all that the generation has from before the switch, and only then goes on
// from there. The cursors on that way have the switch's number, and as their minor
// number that of the change: so they rise, and a follower can go on in the middle.
type Following struct {
	of     Incarnation
	number int64 // of the last change read; on the way to a switch that of the switch
	minor  int64 // of the last change read on the way to a switch
	onWay  bool  // whether it is on the way to a switch
	// complete is up to where everything has been returned. On the way to a switch that
	// is nothing: what was new in a view of the one generation may have been in that of
	// the other one before.
	complete int64
}

// Follow begins behind a cursor. last is the greatest number that may have been given
// to anybody. Errors: [ErrForeignToken], [*FutureCursorError].
func Follow(after Cursor, of Incarnation, last int64) (Following, error) {
	if _, err := after.Number(of, last); err != nil {
		return Following{}, err
	}
	f := Following{of: of, number: after.number, minor: after.minor, onWay: after.minor > 0}
	if !f.onWay {
		f.complete = after.Complete()
	}
	return f, nil
}

// Next returns between which numbers the next changes are; both are excluded.
// switched is the number of the last switch of the collection, 0 if there was none or
// if one generation of it is followed.
func (f *Following) Next(switched int64) (after, before int64) {
	if f.number < switched { // it has not been told of the switch
		f.number, f.minor, f.onWay, f.complete = switched, 0, true, 0
	}
	if f.onWay {
		return f.minor, f.number
	}
	return f.number, math.MaxInt64
}

// Read returns the cursor of a change that was read, and whether it is history; news
// is the number of the document's last change that was not history alone.
func (f *Following) Read(number, news int64) (c Cursor, history bool) {
	c = NewCursor(f.of, number)
	if f.onWay {
		f.minor = number
		c.number, c.minor = f.number, number
	} else {
		f.number = number
	}
	return c.Behind(f.complete), news <= f.complete
}

// End tells that there are no more changes than those on the page that was read, and
// reports whether to ask for the next ones all the same: there may be some by now.
func (f *Following) End(page []Change) (again bool) {
	if f.onWay {
		f.onWay, f.minor = false, 0
		return true
	}
	if f.complete = f.number; len(page) > 0 {
		page[len(page)-1].Cursor = NewCursor(f.of, f.number) // with it everything is returned
	}
	return len(page) > 0
}
