package materializer

import "context"

// Switch serves the generation of this collection's version; see [Collection.Switch].
func (d *Derived[V]) Switch(ctx context.Context, force bool) error { return d.c.Switch(ctx, force) }

// Rollback serves the generation again that was served before; see [Collection.Rollback].
func (d *Derived[V]) Rollback(ctx context.Context) error { return d.c.Rollback(ctx) }

// Cancel drops the generation of this collection's version, with what its sources had to
// tell it; see [Collection.Cancel].
func (d *Derived[V]) Cancel(ctx context.Context) error { return d.c.Cancel(ctx) }
