package sqlite

import "context"

// sweepDocuments is how many rows of a generation that is being dropped go in one
// transaction: their views may be large.
const sweepDocuments = 256

// sweep goes on with the erasing that an earlier process did not finish. It ends
// when that is done, or when the store is closed: then whoever opens the file
// next goes on.
func (s *Store) sweep() {
	ctx := context.Background()
	err := s.eraseAll(ctx, func() sliceWork { return new(eraseWork) })
	if err == nil {
		err = s.eraseAll(ctx, func() sliceWork { return new(dropSliceWork) })
	}
	if err == nil {
		err = s.eraseAll(ctx, func() sliceWork { return new(sweepWork) })
	}
	if err == nil {
		err = s.scrub(ctx)
	}
	select {
	case <-s.closing:
	default:
		s.log.Info().Err(err).Msg("refold: erased what an earlier process had not finished to erase")
	}
}

// unfinished reports whether there is something for sweep to do.
func (s *Store) unfinished() (bool, error) {
	row, err := s.writer.conn.one(getErasing, "")
	if err == nil && row == nil {
		row, err = s.writer.conn.one(getDropping)
	}
	if err == nil && row == nil {
		row, err = s.writer.conn.one(nextDropping)
	}
	return row != nil, err
}

// Sweep implements [store.Generator]. With the last rows it gives the pages back that
// have become free, like Drop.
func (s *Store) Sweep(ctx context.Context) (more bool, err error) {
	w := new(sweepWork)
	if err := s.submit(ctx, newRequest(w, false, sliceBytes)); err != nil {
		return false, ended(ctx, err)
	}
	if w.did && !w.left {
		err = s.shrink(ctx)
	}
	return w.left, err
}

// sweepWork removes some rows of the first generation that is being dropped.
type sweepWork struct{ did, left bool }

func (w *sweepWork) more() bool { return w.left }

func (w *sweepWork) do(t *transaction) error {
	w.did, w.left = false, false
	row, err := t.run.one(nextDropping)
	if err != nil || row == nil {
		return err
	}
	w.did, w.left = true, true
	generation := integer(row[0])
	if integer(row[1]) < 0 {
		all, err := t.sweepDerived(generation, new(spent))
		if err != nil || !all {
			return err
		}
		return w.look(t)
	}
	last, err := t.run.one(sliceEnd, generation, int64(sweepDocuments-1))
	if err != nil {
		return err
	}
	end, all := int64(1<<63-1), last == nil
	if !all {
		end = integer(last[0])
	}
	for _, st := range []statement{sweepViews, sweepFailures, sweepProgress} {
		if err := t.run.exec(st, generation, end); err != nil {
			return err
		}
	}
	if !all {
		return nil
	}
	if err := t.run.exec(dropGeneration, generation); err != nil {
		return err
	}
	return w.look(t)
}

// look looks whether there is another one.
func (w *sweepWork) look(t *transaction) error {
	row, err := t.run.one(nextDropping)
	w.left = row != nil
	return err
}
