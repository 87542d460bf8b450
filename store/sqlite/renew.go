package sqlite

import (
	"errors"
	"fmt"
)

// Renew gives the store in a file a new incarnation. It is called once after the
// file was restored from a backup, before it is used again: tokens and cursors that
// were given out after the backup was made would mean other operations and changes
// now. With the new incarnation all older ones are refused with
// [store.ErrForeignToken], and followers begin again. Operations, views and what was
// forgotten stay as they are. It is as durable as an append.
//
// Errors: as for [Open]; [store.ErrClaimed] if a materializer works on the file.
func Renew(path string) (err error) {
	s, err := Open(path, &Options{Readers: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	claim, err := s.Claim(background)
	if err != nil {
		return err
	}
	end := claim.Release
	if claim.Unclean {
		end = claim.Abandon // the mark is for the next materializer
	}
	err = s.submit(background, newRequest(renewWork{}, true, 0))
	if err = errors.Join(err, end()); err != nil {
		return fmt.Errorf("refold: renewing %s: %w", s.path, err)
	}
	return nil
}

type renewWork struct{}

func (renewWork) do(t *transaction) error {
	fresh := drawIncarnation()
	for fresh == int64(t.of) { // #nosec G115 -- only the bits matter
		fresh = drawIncarnation()
	}
	return t.run.exec(setMeta, metaIncarnation, fresh)
}
