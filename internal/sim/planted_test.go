package sim

// mutant is a fault of a kind that is shipped easily, planted into a copy of the
// module.
type mutant struct {
	name  string
	edits []edit
}

// edit replaces a text that the file has exactly once.
type edit struct{ file, old, new string }

const yieldImport = "\t\"github.com/refold-go/refold/internal/yield\"\n"

var mutants = []mutant{
	{"requeue flag dropped", []edit{
		{"dispatcher/table.go", "\tcase Running:\n\t\te.state = Requeue\n", ""},
	}},
	{"signal as check-then-act outside the lock", []edit{
		{"dispatcher/dispatcher.go", "\t\t\td.Table.SignalAll(keys[:n])\n", `			for _, k := range keys[:n] {
				seen := d.Table.State(k)
				yield.At(ctx, "has checked, will act")
				d.Table.act(k, seen)
			}
`},
		{"dispatcher/table.go", "// Take waits until", `func (t *Table) act(k store.Key, seen State) {
	hash := t.hash(k)
	t.mu.Lock()
	defer t.mu.Unlock()
	if slot, found := t.findLocked(k, hash); seen == Running {
		if found && t.slab.at(slot).state == Running {
			t.slab.at(slot).state = Requeue
		}
		return
	} else if found && t.slab.at(slot).state == Running {
		return
	}
	t.signalLocked(k, hash)
}

// Take waits until`},
	}},
	{"operations read before the state is running", []edit{
		{"dispatcher/table.go", "e.state, e.link, e.absorbed = Running, t.turn, 0", "e.state, e.link, e.absorbed = Queued, t.turn, 0"},
		{"dispatcher/table.go", "\t\tif !e.inHand(ticket.turn) {\n", "\t\tif e.state == Queued && e.link == ticket.turn {\n\t\t\te.state = Running\n\t\t}\n\t\tif !e.inHand(ticket.turn) {\n"},
	}},
	{"done before commit", []edit{
		{"materializer/commit.go", "\toutcomes, err := e.write(ctx, b)\n", `	for i := range b {
		h.settle(b[i].index, dispatcher.Result{Verdict: dispatcher.Done})
	}
	if !h.careful {
		e.giveBack(h)
	}
	outcomes, err := e.write(ctx, b)
`},
	}},
	{"announced before stored", []edit{
		{"store/memory/append.go", "\tresult, at, err := s.append(ctx, appends)\n\tif err == nil {\n\t\ts.listeners.Appended(appends, result, at)\n\t}\n", `	keys := make([]store.Key, len(appends))
	for i := range appends {
		keys[i] = appends[i].Key
	}
	s.listeners.Dirty(keys)
	result, _, err := s.append(ctx, appends)
`},
	}},
	{"finish as check-then-act", []edit{
		{"dispatcher/state.go", "\tVerdict Verdict\n", "\tVerdict Verdict\n\tSeen bool\n"},
		{"dispatcher/table.go", "\trequeue := e.state == Requeue\n", "\trequeue := r.Seen\n"},
		{"materializer/work.go", "\treturn h.finish(ctx)\n", `	results := h.finish(ctx)
	for i := range results {
		results[i].Seen = e.table.State(h.tickets[i].Key) == dispatcher.Requeue
	}
	yield.At(ctx, "has checked, will act")
	return results
`},
		{"materializer/work.go", "\t\"github.com/refold-go/refold/store\"\n", yieldImport + "\t\"github.com/refold-go/refold/store\"\n"},
	}},
	{"no look at the dirty documents after a crash", []edit{
		{"dispatcher/dispatcher.go", "\tsub := d.Bus.Subscribe(size)\n\td.Table.Reread()\n", "\tsub := d.Bus.Subscribe(size)\n"},
		{"materializer/run.go", "\t\tseen = next\n\t\tm.waits.notifyAll()\n", "\t\tif seen == 0 {\n\t\t\tseen = next\n\t\t\tcontinue\n\t\t}\n\t\tseen = next\n\t\tm.waits.notifyAll()\n"},
	}},
	{"requeue enqueued at once", []edit{
		{"dispatcher/table.go", "\tcase Running:\n\t\te.state = Requeue\n", "\tcase Running:\n\t\tt.pushLocked(slot)\n\t\tt.waiters.wakeOne()\n"},
	}},
	{"dirty cleared without comparing the head", []edit{
		{"store/memory/commit.go", "\tin.enterLocked(d)\n\tif d.dirty() {\n\t\treturn store.StillDirty\n\t}\n", "\tif d.parked() || c.Failure != nil {\n\t\tin.enterLocked(d)\n\t}\n\tif c.Failure != nil && d.dirty() {\n\t\treturn store.StillDirty\n\t}\n"},
	}},
	{"still dirty taken for done", []edit{
		{"materializer/commit.go", "\t\treturn dispatcher.Result{Verdict: dispatcher.Again, Until: rest}\n", "\t\treturn dispatcher.Result{Verdict: dispatcher.Done, Until: rest}\n"},
	}},
	{"view written without a guard", []edit{
		{"store/memory/commit.go", "d == nil || d.parked() || d.applied != c.Loaded || d.epoch != c.Epoch", "d == nil || d.parked() || d.epoch != c.Epoch"},
	}},
	{"a worker that takes one of several wakes nobody", []edit{
		{"dispatcher/table.go", "\tt.counts.Takes += int64(n)\n\tt.passOnLocked()\n", "\tt.counts.Takes += int64(n)\n"},
	}},
	{"lag of the bus without a reading", []edit{
		{"dispatcher/dispatcher.go", "\t\t\tsub.Close()\n\t\t\tsub = d.subscribe()\n", "\t\t\tsub.Close()\n\t\t\tsub = d.Bus.Subscribe(max(d.Buffer, 1))\n"},
	}},
	{"what does not fit is forgotten", []edit{
		{"dispatcher/table.go", "\t\t\tt.counts.Overflowed++\n\t\t\tt.reread = true\n", "\t\t\tt.counts.Overflowed++\n"},
	}},
	{"mark of a reading cleared after it", []edit{
		{"dispatcher/reread.go", "\tt.reread, t.reading = false, true\n", "\tt.reading = true\n"},
		{"dispatcher/reread.go", "\tt.reading = false\n", "\tt.reread, t.reading = false, false\n"},
	}},
	{"the feed passes over running documents", []edit{
		{"dispatcher/dispatcher.go", "\t\tcase !d.Table.Signal(row.Key):\n", "\t\tcase d.Table.State(row.Key) == Running:\n\t\tcase !d.Table.Signal(row.Key):\n"},
	}},
	{"no reading after an append in doubt", []edit{
		{"materializer/append.go", "\t\t\tm.table.Reread() // they may be there, and nobody will announce them\n", ""},
		{"materializer/append.go", "\tif errors.Is(err, store.ErrInDoubt) {\n\t\tm.table.Reread()\n", "\tif errors.Is(err, store.ErrInDoubt) {\n"},
		{"materializer/run.go", "\t\tm.table.Reread()\n\t\tif m.cfg.Shared {\n", "\t\tif m.cfg.Shared {\n"},
	}},
	{"suspects that are resumed unheard are not looked for", []edit{
		{"materializer/run.go", "\t\t\t\te.suspects.look()\n", ""},
	}},
	{"a reader signals a document that waits", []edit{
		{"materializer/read.go", "case doc.Failure != nil && doc.Failure.Delay > 0, m.sharing", "case m.sharing"},
	}},
	{"drained beside a document that is resumed", []edit{
		{"materializer/wait.go", "\t\tif err == nil {\n\t\t\tagain, err = m.waitForHeldBack(ctx, token, collections)\n\t\t}\n", ""},
	}},
	{"lease released by a stale holder", []edit{
		{"store/memory/lease.go", "\treturn s.ofHolder(ctx, holder, held, func(l *lease) { *l = lease{} })\n", `	had, err := s.ofHolder(ctx, holder, held, func(*lease) {})
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range held {
		if _, d := s.namedLocked(h.Key); d != nil {
			d.lease = lease{}
		}
	}
	return had, err
`},
	}},
	{"a kept lease lengthened without an end", []edit{
		{"store/memory/lease.go", "most.Before(l.until) {\n", "most.Before(l.taken) {\n"},
	}},
	{"epoch not compared in the commit", []edit{
		{"store/memory/commit.go", "d == nil || d.parked() || d.applied != c.Loaded || d.epoch != c.Epoch", "d == nil || d.parked() || d.applied != c.Loaded"},
	}},
	{"expiry ignored when taking", []edit{
		{"store/lease.go", "\tcase l.Left > 0:\n\t\tanswer.Why = Elsewhere\n", ""},
	}},
	{"the pool takes what was left behind", []edit{
		{"materializer/lease.go", "\tanswers, err := l.ask(ctx, h, keys, false)\n", "\tanswers, err := l.ask(ctx, h, keys, true)\n"},
	}},
	{"the lane looks only at the oldest documents", []edit{
		{"materializer/suspects.go", "if err == nil && (!shared && int64(", "if err == nil && (!m.suspect(row.Key, row.Since, row.Lease) || !shared && int64("},
	}},
	{"folded under the lease of another holder", []edit{
		{"materializer/load.go", "\t\tif e.leases.lost(h, left[i], doc) {\n\t\t\tcontinue\n\t\t}\n", ""},
	}},
	{"leases not given back at the end of a hand", []edit{
		{"materializer/engine.go", "\te.leases.giveUp(ctx, h, false)\n\th.drop(e.budget)\n", "\th.drop(e.budget)\n"},
	}},
	{"a change number not moved", []edit{
		{"store/memory/feed.go", "\ts.changes++\n\td.changed = s.changes\n", "\tif d.changed == 0 {\n\t\ts.changes++\n\t\td.changed = s.changes\n\t}\n"},
	}},
	{"a document that parks is not told", []edit{
		{"store/memory/commit.go", "; parks || other || moves && in.derived == nil {", "; !parks && (other || moves && in.derived == nil) {"},
	}},
	{"a follower wakes for its own process only", []edit{
		{"materializer/changes.go", "\t\t\tseen = next\n\t\t\tw.notify()\n", "\t\t\tseen = next\n"},
	}},
	{"a collection that goes on is not looked at", []edit{
		{"materializer/pause.go", "\t\tm.table.Reread()\n\t\tm.suspects.look()\n", ""},
	}},
	{"runs go on while the collection is paused", []edit{
		{"materializer/work.go", "c == nil || c.paused.Load() || c.isHeld():", "c == nil || c.isHeld():"},
	}},
	{"a discard leaves runs in hand", []edit{
		{"store/memory/parking.go", "\td.epoch, d.lease = s.changes, lease{}\n", "\td.lease = lease{}\n"},
	}},
	{"readers recorded before are not made dirty", []edit{
		{"store/memory/effects.go", "\tif readers == nil {\n\t\treturn true\n\t}\n\troom := x.room\n", "\tif readers != nil || x.room > 0 {\n\t\treturn true\n\t}\n\troom := x.room\n"},
	}},
	{"effects dropped when the commit of the source was in doubt", []edit{
		{"store/memory/commit.go", "\tif other && in == of.generation {\n", "\tif other && in == of.generation && d.failure == nil && !(c.Applied > c.Loaded+1) {\n"},
	}},
	{"a build accepted although a source changed", []edit{
		{"store/memory/edges.go", "\t\t\tchanged = changed || version != r.Version && ", "\t\t\tchanged = changed && version != r.Version && "},
	}},
	{"a mapping done with its first slice", []edit{
		{"store/memory/effects.go", "\tif e.Upto == \"\" {\n\t\treturn true\n\t}\n\tround.After = e.Upto\n\treturn false\n", "\treturn true\n"},
	}},
	{"switched to although a document is below", []edit{
		{"store/memory/generator.go", "old != nil && d.applied < old.applied {\n", "old != nil && d.applied < old.applied-1 {\n"},
	}},
	{"the old generation written by new code", []edit{
		{"materializer/registry.go", "\t\t\tif c.served.Load() {\n\t\t\t\tto = append(to, Key{Collection: c.own, ID: k.ID})\n", "\t\t\tif c.served.Load() || c.version > 1 {\n\t\t\t\tto = append(to, Key{Collection: c.name, ID: k.ID})\n"},
		{"materializer/registry.go", "func (m *Materializer) collection(own string) *collection { return m.registry.Load().own[own] }\n", "func (m *Materializer) collection(own string) *collection {\n\tif all := m.registry.Load().named[own]; len(all) > 0 {\n\t\treturn all[len(all)-1]\n\t}\n\treturn m.registry.Load().own[own]\n}\n"},
	}},
	{"contributions of a deleted source kept", []edit{
		{"store/memory/effects.go", "\tdefault:\n\t\tover = x.contribute(c.Effects, &round)\n", "\tdefault:\n\t\tover = len(c.Effects.Pairs) == 0 || x.contribute(c.Effects, &round)\n"},
	}},
	{"a rebuild of a source leaves what is made of it", []edit{
		{"store/memory/generator.go", "\t\ts.refillLocked(m)\n\t\tm.mark = since\n", "\t\tm.mark = since\n"},
	}},
	{"what is filled again lacks nothing that was lacking", []edit{
		{"store/memory/generator.go", "\t\tm.mark = since\n", ""},
	}},
}
