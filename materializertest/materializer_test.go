package materializertest_test

import (
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/materializertest"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
	"github.com/refold-go/refold/store/sqlite"
)

// In a bubble a fold that is tried again for hours takes no time, and what others
// append meanwhile is waited for.
func TestSettleInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failures := 0 // there is one worker
		later := with(func(a account, op operation) (account, error) {
			if op.Body.Amount == 7 && failures < 5 {
				failures++
				return a, materializer.RetryAfter(time.Hour, errOverdrawn)
			}
			return fold(a, op)
		})
		m := materializertest.New(t, nil)
		c := materializertest.Register(m, later)
		start := time.Now()
		if _, err := c.Append(t.Context(), "ann", deposit{Amount: 7}); err != nil {
			t.Fatal(err)
		}
		go func() {
			if _, err := c.Append(t.Context(), "bob", deposit{Amount: 8}); err != nil {
				t.Error(err)
			}
		}()
		m.Settle()
		if took := time.Since(start); took < 5*time.Hour || took > 6*time.Hour {
			t.Errorf("it took %v of the bubble's time, want five hours", took)
		}
		for id, want := range map[string]int{"ann": 7, "bob": 8} {
			if v, err := c.Get(t.Context(), id); err != nil || v.State.Balance != want {
				t.Errorf("%s: %+v, %v, want a balance of %d", id, v, err, want)
			}
		}
		if _, err := c.Append(t.Context(), "ann", deposit{Amount: 1}); err != nil {
			t.Fatal(err)
		}
		m.Settle()
		if v, err := c.Get(t.Context(), "ann"); err != nil || v.State.Balance != 8 {
			t.Errorf("ann: %+v, %v, want a balance of 8", v, err)
		}
	})
}

// The application made the materializer, over a store on a disk.
func TestAttach(t *testing.T) {
	for name, test := range map[string]func(*testing.T, func(*testing.T)){
		"in a bubble":         synctest.Test,
		"outside of a bubble": func(t *testing.T, f func(*testing.T)) { f(t) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "app.db")
			test(t, func(t *testing.T) {
				st, err := sqlite.Open(path, nil)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := st.Close(); err != nil {
						t.Error(err)
					}
				})
				app, err := materializer.New(st, materializer.Config{})
				if err != nil {
					t.Fatal(err)
				}
				c, err := materializer.Register(app, accounts())
				if err != nil {
					t.Fatal(err)
				}
				m := materializertest.Attach(t, app, st)
				if _, err := c.Append(t.Context(), "ann", sample()["ann"]...); err != nil {
					t.Fatal(err)
				}
				m.Settle()
				if v, err := c.Get(t.Context(), "ann"); err != nil || v.Applied != 3 {
					t.Errorf("ann: %+v, %v, want 3 operations", v, err)
				}
			})
		})
	}
}

func TestParkedDocumentsAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wantFailure(t, []string{
			"2 documents are parked:",
			"\n\taccounts/ann at seq 2 of 3, attempt 10: overdrawn",
			"\n\taccounts/bob at seq 1 of 1, attempt 10: overdrawn",
		}, func(t materializertest.TB) {
			m := materializertest.New(t, nil)
			c := materializertest.Register(m, accounts())
			appendTo(t, c, "ann", 1, -2, 3)
			appendTo(t, c, "bob", -1)
			appendTo(t, c, "eve", 1)
			m.Settle()
		})
	})
}

func appendTo(t materializertest.TB, c *materializer.Collection[account, deposit], id string, amounts ...int) {
	for _, amount := range amounts {
		if _, err := c.Append(t.Context(), id, deposit{Amount: amount}); err != nil {
			t.Fatalf("appending: %v", err)
		}
	}
}

func TestSettleParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := materializertest.New(t, nil)
		c := materializertest.Register(m, accounts())
		appendTo(t, c, "eve", 1)
		if parked := m.SettleParked(); len(parked) > 0 {
			t.Errorf("parked %+v, want none", parked)
		}
		appendTo(t, c, "ann", 1, -2)
		parked := m.SettleParked()
		if len(parked) != 1 || parked[0].Key.ID != "ann" || parked[0].Applied != 1 || parked[0].Failure.Seq != 2 {
			t.Errorf("parked %+v, want ann at seq 2", parked)
		}
		if m.SettleParked(); t.Failed() {
			t.Error("it must not fail the test")
		}
	})
}

func TestImpatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wantFailure(t, []string{"not all is folded after 24h0m0s", "\n\tcollection accounts is paused, 2 documents wait"},
			func(t materializertest.TB) {
				m := materializertest.New(t, nil)
				c := materializertest.Register(m, accounts())
				m.Start()
				appendTo(t, c, "zoe", 1)
				m.Settle()
				if err := c.Pause(t.Context()); err != nil {
					t.Fatalf("pausing: %v", err)
				}
				appendTo(t, c, "ann", 1)
				appendTo(t, c, "bob", 1)
				m.Settle()
			})
		patient := with(func(a account, op operation) (account, error) {
			return a, materializer.RetryAfter(48*time.Hour, errOverdrawn)
		})
		wantFailure(t, []string{"not all is folded after 1h0m0s", "\n\taccounts/ann is delayed", "overdrawn", ", and 1 more"},
			func(t materializertest.TB) {
				m := materializertest.New(t, &materializertest.Options{Patience: time.Hour})
				c := materializertest.Register(m, patient)
				appendTo(t, c, "ann", 1)
				appendTo(t, c, "bob", 1)
				m.Settle()
			})
	})
}

func TestRunFails(t *testing.T) {
	st := memory.New(nil)
	claim, err := st.Claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer claim.Release()
	got := failures(t, func(t materializertest.TB) {
		m := materializertest.New(t, &materializertest.Options{Store: st})
		c := materializertest.Register(m, accounts())
		appendTo(t, c, "ann", 1)
		m.Settle()
	})
	if len(got) != 2 {
		t.Fatalf("%d failures, want 2: %q", len(got), got)
	}
	for _, failure := range got { // of Settle, and of the end of the test
		wantFailure(t, []string{"Run returned: " + store.ErrClaimed.Error()}, func(t materializertest.TB) { t.Errorf("%s", failure) })
	}
}

// A fold that hangs is named when the test ends, and does not make it hang.
func TestStuckFold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		hanging := with(func(a account, op operation) (account, error) {
			<-release
			return a, nil
		})
		got := failures(t, func(t materializertest.TB) {
			m := materializertest.New(t, &materializertest.Options{Patience: time.Minute})
			c := materializertest.Register(m, hanging)
			appendTo(t, c, "ann", 1)
			m.Settle()
		})
		if len(got) != 2 {
			t.Fatalf("%d failures, want 2: %q", len(got), got)
		}
		wantFailure(t, []string{"accounts/ann is r", "0 of 1 operations"}, func(t materializertest.TB) { t.Errorf("%s", got[0]) })
		wantFailure(t, []string{"Run returned", "have not returned: accounts/ann"}, func(t materializertest.TB) { t.Errorf("%s", got[1]) })
	})
}

func TestMistakenMaterializer(t *testing.T) {
	wantFailure(t, []string{"Config.Queue"}, func(t materializertest.TB) {
		materializertest.New(t, &materializertest.Options{Config: materializer.Config{Queue: -1}})
	})
	wantFailure(t, []string{"registering collection accounts", "fold of accounts"}, func(t materializertest.TB) {
		materializertest.Register(materializertest.New(t, nil), spec{Name: "accounts", Version: 1})
	})
}

// The store that was given is the caller's.
func TestStoreStaysOpen(t *testing.T) {
	st := memory.New(nil)
	if got := failures(t, func(t materializertest.TB) {
		materializertest.New(t, &materializertest.Options{Store: st}).Settle()
	}); len(got) > 0 {
		t.Error(got)
	}
	if _, err := st.Collections(t.Context()); err != nil {
		t.Errorf("the store: %v", err)
	}
	if _, err := st.Claim(t.Context()); errors.Is(err, store.ErrClaimed) {
		t.Error("the materializer runs after the end of its test")
	}
}
