package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/storetest"
)

func TestContract(t *testing.T) {
	storetest.Run(t, func(t testing.TB) store.Backend {
		return open(t, filepath.Join(t.TempDir(), "store.db"), nil)
	}, &storetest.Options{
		Reopen: func(t testing.TB, b store.Backend) store.Backend {
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			return open(t, b.(*Store).path, nil)
		},
		Second: func(t testing.TB, b store.Backend) store.Backend {
			return open(t, b.(*Store).path, nil)
		},
	})
}
