package storetest

import (
	"time"

	"github.com/refold-go/refold/store"
)

// lease is Lease, which must succeed.
func (f *fixture) lease(holder string, terms store.LeaseTerms, over bool, keys ...store.Key) []store.Leased {
	f.Helper()
	got, err := f.b.Lease(background, holder, terms, keys, over)
	if err != nil || len(got) != len(keys) {
		f.Errorf("Lease of %d documents returned %+v, %v", len(keys), got, err)
		return make([]store.Leased, len(keys))
	}
	return got
}

func (f *fixture) leaseError(holder string, terms store.LeaseTerms, keys ...store.Key) error {
	_, err := f.b.Lease(background, holder, terms, keys, false)
	return err
}

// mustLease takes a document for a while, and returns the epoch.
func (f *fixture) mustLease(holder string, k store.Key) int64 {
	f.Helper()
	got := f.lease(holder, longTerms, false, k)[0]
	if got.Why != store.Taken || got.Epoch <= 0 {
		f.Fatalf("lease of %s for %s: %+v", k, holder, got)
	}
	return got.Epoch
}

// release is Release of one lease, that the holder must have or not.
func (f *fixture) release(holder string, want bool, held store.Held) {
	f.Helper()
	had, err := f.b.Release(background, holder, []store.Held{held})
	if err != nil || len(had) != 1 || had[0] != want {
		f.Errorf("releasing %+v for %s returned %v, %v, want %t", held, holder, had, err, want)
	}
}

// lengthen is Lengthen of one lease, that the holder must have or not.
func (f *fixture) lengthen(holder string, want bool, held store.Held) {
	f.Helper()
	if had := f.mustLengthen(holder, longTerms, held); had[0] != want {
		f.Errorf("lengthening %+v for %s returned %v, want %t", held, holder, had, want)
	}
}

func (f *fixture) mustLengthen(holder string, terms store.LeaseTerms, held ...store.Held) []bool {
	f.Helper()
	had, err := f.b.Lengthen(background, holder, terms, held)
	if err != nil || len(had) != len(held) {
		f.Fatalf("lengthening %+v returned %v, %v", held, had, err)
	}
	return had
}

// untilLeft waits until the lease of a document has run out.
func (f *fixture) untilLeft(k store.Key) {
	f.Helper()
	for begun := time.Now(); !f.load(k).Lease.LeftBehind(); time.Sleep(time.Millisecond) {
		if time.Since(begun) > patience {
			f.Fatalf("the lease of %s does not run out", k)
		}
	}
}

// share is Share, which must succeed.
func (f *fixture) share(b store.Backend) store.Claim {
	f.Helper()
	c, err := b.Share(background)
	if err != nil {
		f.Fatalf("Share: %v", err)
	}
	return c
}

// register is Register, which must succeed.
func (f *fixture) register(name string, version int) {
	f.Helper()
	if err := f.b.Register(background, name, version); err != nil {
		f.Fatalf("Register: %v", err)
	}
}
