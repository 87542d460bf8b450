package sqlite

import "context"

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
	return row != nil, err
}
