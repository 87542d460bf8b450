package materializertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/refold-go/refold/store"
)

// parked returns the parked documents of all collections.
func (m *Materializer) parked(ctx context.Context) (parked []store.Document, err error) {
	collections, err := m.store.Collections(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range collections {
		for doc, err := range m.store.Parked(ctx, c.Name) {
			if err != nil {
				return nil, err
			}
			parked = append(parked, doc)
		}
	}
	return parked, nil
}

// describe names parked documents and their errors, a line each.
func describe(parked []store.Document) string {
	const most = 10
	var b strings.Builder
	if len(parked) == 1 {
		b.WriteString("a document is parked:")
	} else {
		fmt.Fprintf(&b, "%d documents are parked:", len(parked))
	}
	for i, doc := range parked {
		if i == most {
			fmt.Fprintf(&b, "\n\tand %d more", len(parked)-most)
			break
		}
		f := doc.Failure
		fmt.Fprintf(&b, "\n\t%s at seq %d of %d, attempt %d: %s", doc.Key, f.Seq, doc.Head, f.Attempts, f.Error)
	}
	return b.String()
}

// excuse says why nothing settles.
func (m *Materializer) excuse(err error, patience time.Duration) string {
	if !errors.Is(err, errPatience) {
		return err.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "not all is folded after %v", patience)
	ctx := m.t.Context()
	health, err := m.Health(ctx)
	if err != nil {
		fmt.Fprintf(&b, "; %v", err)
	}
	for _, c := range health.Collections {
		if !c.Registered || c.Dirty == 0 {
			continue
		}
		if c.Paused {
			fmt.Fprintf(&b, "\n\tcollection %s is paused, %d documents wait", c.Name, c.Dirty)
			continue
		}
		why, err := m.Explain(ctx, c.Oldest)
		if err != nil {
			fmt.Fprintf(&b, "\n\t%s: %v", c.Oldest, err)
			continue
		}
		fmt.Fprintf(&b, "\n\t%s", why)
		if c.Dirty > 1 {
			fmt.Fprintf(&b, ", and %d more of its collection", c.Dirty-1)
		}
	}
	return b.String()
}
