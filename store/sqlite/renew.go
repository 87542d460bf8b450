package sqlite

import (
	"errors"
	"fmt"

	"github.com/refold-go/refold/store"
)

// Renew gives the store in a file a new incarnation. It is called once after the
// file was restored from a backup, before it is used again: tokens and cursors that
// were given out after the backup was made would mean other operations and changes
// now. With the new incarnation all older ones are refused with
// [store.ErrForeignToken], and followers begin again. Operations, views and what was
// forgotten stay as they are. It is as durable as an append. Processes that have the
// file open must open it again: they can read, and what they write is refused with
// [ErrRenewed].
//
// Errors: as for [Open]; [store.InvalidError] if there is no store in the file;
// [store.ErrClaimed] if a materializer works on it.
func Renew(path string) (err error) {
	full, size, err := resolvePath(path)
	if err != nil {
		return err
	}
	switch found, err := inspect(full, size, schema); {
	case err != nil:
		return err
	case found != ours:
		return &store.InvalidError{Field: "file to renew", Got: full + " without a store", Want: "one that has been restored"}
	}
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
	t.of = store.Incarnation(fresh) // #nosec G115 -- only the bits matter
	return t.run.exec(setMeta, metaIncarnation, fresh)
}
