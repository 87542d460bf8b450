package sim

import (
	"context"
	"slices"
	"time"

	"github.com/refold-go/refold/store"
)

// Derive implements [store.Deriver].
func (h *handle) Derive(ctx context.Context, d store.Derivation) error {
	sh := h.sh
	return h.write(ctx, "derive "+d.Name, func(bool) error {
		err := sh.inner.Derive(context.Background(), d)
		h.p.w.note(h.p.name, "derive", d.Name, text(err))
		if err != nil {
			return err
		}
		first := sh.model.collections[d.Name] == nil
		may := 0
		if first {
			may = d.Version
		}
		sh.learn(d.Name, may)
		sh.model.collections[d.Name].sources[d.Version] = d.Sources
		sh.log(true, func(st store.Backend) error { return st.Derive(context.Background(), d) })
		sh.foreigner(h)
		return nil
	})
}

// Register implements [store.Registrar].
func (h *handle) Register(ctx context.Context, name string, version int) error {
	sh := h.sh
	return h.write(ctx, "register", func(bool) error {
		err := sh.inner.Register(context.Background(), name, version)
		if !h.p.w.opt.derived {
			sh.log(true, func(st store.Backend) error { return st.Register(context.Background(), name, version) })
			return err
		}
		h.p.w.note(h.p.name, "register", text(err))
		if err == nil {
			may := 0
			if sh.model.registered || name != collection {
				may = sh.model.collections[name].served
			} else {
				may, sh.model.registered = version, true
			}
			sh.learn(name, may)
			sh.log(true, func(st store.Backend) error { return st.Register(context.Background(), name, version) })
			sh.foreigner(h)
		}
		return err
	})
}

// text is an error in a trace.
func text(err error) string {
	if err != nil {
		return "refused"
	}
	return "done"
}

// Fill implements [store.Generator].
func (h *handle) Fill(ctx context.Context, name string) (more bool, err error) {
	sh := h.sh
	h.mayWrite("fill")
	err = h.write(ctx, "fill "+name, func(bool) error {
		err := fill(sh.inner, name)
		h.p.w.note(h.p.name, "fill", name, text(err))
		if err != nil {
			return err
		}
		h.p.w.rare.Fills++
		sh.appearAll()
		filled := func(st store.Backend) error {
			if n, _ := store.ParseCollection(name); sh.model.collections[n.Name] != nil {
				delete(sh.model.collections[n.Name].unfilled, n.Version)
			}
			return fill(st, name)
		}
		_ = filled(sh.inner)
		sh.log(false, filled)
		sh.foreigner(h)
		return nil
	})
	return false, err
}

// fill makes all rows of a generation: backends do so in slices of their own.
func fill(st store.Backend, name string) error {
	for {
		if more, err := st.Fill(context.Background(), name); !more || err != nil {
			return err
		}
	}
}

// Switch implements [store.Generator].
func (h *handle) Switch(ctx context.Context, name string, terms store.SwitchTerms) (o store.Obstacle, err error) {
	sh, w := h.sh, h.p.w
	h.mayWrite("switch")
	err = h.write(ctx, "switch to "+name, func(late bool) (err error) {
		n := sh.model.generation(name)
		served := func() bool { c := sh.model.collections[n.Name]; return c != nil && c.served == n.Version }
		if !served() {
			before := sh.model.served()
			sh.pending = func() {
				if n.Name == collection {
					sh.checkSwitch(before, n.Version)
				}
				sh.learn(n.Name, n.Version)
				sh.model.collections[n.Name].held = time.Time{}
				if w.rare.Switches++; sh.readBy(n.Name) {
					w.rare.Refills++
				}
				if w.kills+w.cuts > 0 {
					w.rare.SwitchesAfterCrash++
				}
				if n.Name == collection {
					sh.changedAll()
				}
				sh.refilled(n.Name)
				sh.log(true, func(st store.Backend) error {
					sh.refilled(n.Name)
					o, err := st.Switch(context.Background(), name, terms)
					if err == nil && o.Why != store.Unhindered {
						sh.w.fail("%s is switched to again, and hindered by %+v", name, o)
					}
					return err
				})
			}
		}
		o, err = sh.inner.Switch(context.Background(), name, terms)
		if !late && h.p.dead.Load() {
			return errDead // it died before it could say so
		}
		w.note(h.p.name, "switch to", name, text(err), o.Why.String())
		if err != nil || o.Why != store.Unhindered {
			sh.pending = nil
			return err
		}
		sh.effect()
		return nil
	})
	return o, err
}

// checkSwitch checks that no document of a generation of the plain collection which is served
// now has less in its view than it had in the one before.
func (sh *shared) checkSwitch(before []*modelDoc, version int) {
	for _, old := range before {
		d := sh.model.doc(store.Key{Collection: store.CollectionName{Name: collection, Version: version}.String(), ID: old.key.ID})
		if old.exists && (!d.exists || d.applied < old.applied) {
			sh.w.fail("%s is served at %d, and was at %d", d.key, d.applied, old.applied)
		}
	}
}

// changedAll says that all documents of the plain collection changed for who follows it, since
// another generation is served.
func (sh *shared) changedAll() {
	for _, d := range sh.model.served() {
		if d.changed > 0 {
			sh.model.changes++
			d.changed = sh.model.changes
		}
	}
}

// Hold implements [store.Generator].
func (h *handle) Hold(ctx context.Context, name string, mine time.Time, d time.Duration) (until time.Time, err error) {
	sh := h.sh
	h.mayWrite("hold")
	err = h.write(ctx, "hold "+name, func(bool) (err error) {
		until, err = sh.inner.Hold(context.Background(), name, mine, d)
		h.p.w.note(h.p.name, "hold", name, d.String(), text(err))
		if err != nil {
			return err
		}
		c := sh.model.collections[name]
		now := time.Now()
		others := now.Before(c.held) && !mine.Equal(c.held)
		if got := !until.IsZero(); got != (d > 0 && !others) || got && until.After(now.Add(d)) {
			h.p.w.fail("%s is held until %v for %v more, by another one: %v", name, until, d, others)
		}
		if others {
			return nil
		}
		if c.held = now; d > 0 {
			c.held = until
			h.p.w.rare.Holds++
		}
		held := c.held
		sh.log(false, func(st store.Backend) error {
			_, err := st.Hold(context.Background(), name, mine, time.Until(held))
			return err
		})
		sh.foreigner(h)
		return nil
	})
	if err != nil {
		until = time.Time{}
	}
	return until, err
}

// Retire implements [store.Generator].
func (h *handle) Retire(ctx context.Context, name string) error {
	sh := h.sh
	return h.write(ctx, "retire "+name, func(bool) error {
		err := sh.inner.Retire(context.Background(), name)
		h.p.w.note(h.p.name, "retire", name, text(err))
		if err != nil {
			return err
		}
		h.p.w.rare.Retired++
		sh.learn(store.BareName(name), 0)
		sh.log(true, func(st store.Backend) error { return st.Retire(context.Background(), name) })
		sh.foreigner(h)
		return nil
	})
}

// Sweep implements [store.Generator].
func (h *handle) Sweep(ctx context.Context) (more bool, err error) {
	sh := h.sh
	h.mayWrite("sweep")
	err = h.write(ctx, "sweep", func(bool) (err error) {
		if err = sweep(sh.inner); err == nil {
			for _, c := range sh.model.collections {
				c.dropping = false
			}
			sh.log(false, sweep)
		}
		return err
	})
	return false, err
}

// sweep removes all rows of generations that do not live: backends do so in slices of their own.
func sweep(st store.Backend) error {
	for {
		if more, err := st.Sweep(context.Background()); !more || err != nil {
			return err
		}
	}
}

// Generations implements [store.Generator]. Whether there is something to sweep, and whether what
// has nothing to be filled with is filled, is what the model says, since backends differ.
func (h *handle) Generations(ctx context.Context, name string) (all []store.Generation, err error) {
	err = h.read(ctx, "generations", func() (err error) {
		all, err = h.sh.inner.Generations(context.Background(), name)
		all = slices.DeleteFunc(all, func(g store.Generation) bool { return g.State == store.Dropping })
		c := h.sh.model.collections[name]
		if err != nil || c == nil {
			return err
		}
		for i := range all {
			all[i].Filled = all[i].Filled && !c.unfilled[all[i].Version]
		}
		if c.dropping {
			all = append(all, store.Generation{State: store.Dropping})
		}
		return err
	})
	return all, err
}

// afterCut looks at the generations that there are after a power cut. What is left of others is
// swept up.
func (sh *shared) afterCut() {
	if !sh.w.opt.derived {
		return
	}
	if err := sweep(sh.inner); err != nil {
		sh.w.fail("sweeping up after a power cut: %v", err)
	}
	for name, c := range sh.model.collections {
		sh.learn(name, 0)
		c.dropping = false
	}
	all, err := sh.inner.Collections(context.Background())
	if err != nil {
		sh.w.fail("reading the collections after a power cut: %v", err)
	}
	for i := range all {
		if c := sh.model.collections[all[i].Name]; c != nil {
			c.held = time.Now().Add(all[i].Held)
		}
	}
}

// refilled says that what is made of a collection is to be filled again, since another generation
// of that is served.
func (sh *shared) refilled(source string) {
	for _, c := range sh.model.collections {
		for version, sources := range c.sources {
			if slices.Contains(sources, source) {
				c.unfilled[version] = true
			}
		}
	}
}

// readBy reports whether something that is served is made of a collection.
func (sh *shared) readBy(source string) bool {
	for _, c := range sh.model.collections {
		if slices.Contains(c.sources[c.served], source) {
			return true
		}
	}
	return false
}
