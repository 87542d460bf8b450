package materializer

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"strings"

	"github.com/refold-go/refold/store"
)

// Switch serves the generation of this collection's version; see [Collection.Switch].
func (d *Derived[V]) Switch(ctx context.Context, force bool) error { return d.c.Switch(ctx, force) }

// Rollback serves the generation again that was served before; see [Collection.Rollback].
func (d *Derived[V]) Rollback(ctx context.Context) error { return d.c.Rollback(ctx) }

// Cancel drops the generation of this collection's version, with what its sources had to
// tell it; see [Collection.Cancel].
func (d *Derived[V]) Cancel(ctx context.Context) error { return d.c.Cancel(ctx) }

// whileServed calls wait, and again if another version of a derived collection among the
// names, or of one that a mapping among them feeds, is served when it ends than when it
// began: then what it has waited for is not what is read.
func (m *Materializer) whileServed(ctx context.Context, names []string, wait func() error) error {
	for {
		before, err := m.servedVersions(ctx, names)
		if err != nil {
			return err
		}
		outcome := wait()
		if outcome != nil && !errors.Is(outcome, ErrParked) {
			return outcome
		}
		now, err := m.servedVersions(ctx, names)
		if err != nil || maps.Equal(before, now) {
			return cmp.Or(err, outcome)
		}
	}
}

// servedVersions returns the versions that are served of the derived collections among some
// names, and of those that mappings among them feed.
func (m *Materializer) servedVersions(ctx context.Context, names []string) (map[string]int, error) {
	versions := make(map[string]int)
	for _, name := range names {
		name, _, mapping := strings.Cut(name, "<")
		if _, had := versions[name]; had {
			continue
		}
		if derived, err := m.derived(ctx, name); err != nil {
			return nil, err
		} else if !mapping && !derived {
			continue
		}
		all, err := m.st.Generations(ctx, name)
		if err != nil {
			return nil, err
		}
		for i := range all {
			if all[i].State == store.Serving {
				versions[name] = all[i].Version
			}
		}
	}
	return versions, nil
}
