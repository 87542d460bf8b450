package materializer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

func TestForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec()).start()
		r.append("a", "x")
		settle()
		if err := r.texts.Forget(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		_, err := r.texts.Get(t.Context(), "a")
		wantErr(t, err, materializer.ErrForgotten)
		if errors.Is(err, materializer.ErrNotFound) {
			t.Errorf("%v is also ErrNotFound", err)
		}
		_, err = r.texts.Latest(t.Context(), "a")
		wantErr(t, err, materializer.ErrForgotten)
		_, err = r.texts.Append(t.Context(), "a", word{"y"})
		wantErr(t, err, materializer.ErrForgotten)
		if x, err := r.texts.Explain(t.Context(), "a"); err != nil || x.State != materializer.StateForgotten {
			t.Errorf("Explain: %v, %v, want forgotten", x.State, err)
		}
		if err := r.texts.Forget(t.Context(), "never was"); err != nil {
			t.Error(err)
		}
		_, err = r.texts.Get(t.Context(), "never was")
		wantErr(t, err, materializer.ErrForgotten)
		_, err = r.texts.Get(t.Context(), "b")
		wantErr(t, err, materializer.ErrNotFound)
		wantErr(t, r.texts.Forget(t.Context(), ""), materializer.ErrInvalid)
	})
}

// A run in hand cannot bring the document back, at whatever step it is, and who
// waits for its view is told.
func TestForgetWhileTheDocumentIsInHand(t *testing.T) {
	for _, step := range []string{atLoad, loaded, operations, inFold, atCommit} {
		t.Run(step, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, st := newHold(), newTap(memory.New(nil))
				r := newRig(t, st, materializer.Config{}, specOf(h.fold)).start()
				settle()
				reached, goOn := st.stopAt(step)
				var token materializer.Token
				if step == inFold {
					token = r.append("a", "x", "hold")
					<-h.reached
				} else {
					token = r.append("a", "x")
					<-reached
				}
				errs := make(chan error, 3)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go func() {
					_, err := r.texts.Get(ctx, "a", materializer.AtLeast(token))
					errs <- err
				}()
				go func() { errs <- r.m.Wait(ctx, token) }()
				go func() { errs <- r.texts.Drain(ctx, "a") }()
				settle()
				if err := r.texts.Forget(t.Context(), "a"); err != nil {
					t.Fatal(err)
				}
				goOn()
				close(h.goOn)
				settle()
				var forgotten, fine int
				for range 3 {
					select {
					case err := <-errs:
						if errors.Is(err, materializer.ErrForgotten) {
							forgotten++
						} else if err == nil {
							fine++
						} else {
							t.Error(err)
						}
					default:
						t.Error("somebody waits still")
					}
				}
				if forgotten != 1 || fine != 2 {
					t.Errorf("%d were told that it is forgotten, and %d that all is done, want 1 and 2", forgotten, fine)
				}
				if doc := r.load("a"); doc.Head != 0 || doc.View != nil {
					t.Errorf("it is back: %+v", doc)
				}
				r.wantClean()
			})
		})
	}
}

func TestDrop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		if _, err := st.Append(t.Context(), []store.Append{{
			Key: store.Key{Collection: "old", ID: "a"}, Entries: []store.Entry{{Body: []byte("x")}},
		}}); err != nil {
			t.Fatal(err)
		}
		r := newRig(t, st, materializer.Config{}, spec()).start()
		r.append("a", "x")
		wantErr(t, r.m.Drop(t.Context(), "texts"), materializer.ErrInvalid)
		wantErr(t, r.m.Drop(t.Context(), "No Name"), materializer.ErrInvalid)
		for range 2 {
			if err := r.m.Drop(t.Context(), "old"); err != nil {
				t.Error(err)
			}
		}
		if left, err := r.m.Unregistered(t.Context()); err != nil || len(left) != 0 {
			t.Errorf("left %v, %v, want nothing", left, err)
		}
		settle()
		r.wantView("a", "x", 1, 1)
	})
}
