package materializer_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

func TestGetWithoutWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec())
		if _, err := r.texts.Get(t.Context(), "a"); err == nil || err.Error() != "refold: not found: texts/a" {
			t.Errorf("got %v, want an error that names texts/a", err)
		} else {
			wantErr(t, err, materializer.ErrNotFound)
		}
		_, err := r.texts.Get(t.Context(), "")
		wantErr(t, err, materializer.ErrInvalid)

		r.append("a", "x", "y")
		v, err := r.texts.Get(t.Context(), "a")
		if err != nil || v.ID != "a" || v.Head != 2 || v.Applied != 0 || v.State.Words != nil || v.Parked {
			t.Errorf("before Run: got %+v, %v, want the zero state at 0 of 2", v, err)
		}
		r.start()
		settle()
		v, err = r.texts.Get(t.Context(), "a")
		if err != nil || v.Applied != 2 || v.State.String() != "x y" {
			t.Errorf("after the run: got %+v, %v, want x y at 2", v, err)
		}
	})
}

// A read with a token waits for it, before Run and after, and no longer.
func TestAtLeastWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHold()
		r := newRig(t, memory.New(nil), materializer.Config{}, specOf(h.fold))
		type read struct {
			applied int64
			err     error
		}
		get := func(tokens ...materializer.Token) <-chan read {
			got := make(chan read, 1)
			options := make([]materializer.ReadOption, len(tokens))
			for i, token := range tokens {
				options[i] = materializer.AtLeast(token)
			}
			go func() {
				v, err := r.texts.Get(t.Context(), "a", options...)
				got <- read{v.Applied, err}
			}()
			return got
		}
		want := func(what string, got <-chan read, applied int64) {
			t.Helper()
			settle()
			select {
			case v := <-got:
				if v.applied != applied || v.err != nil {
					t.Errorf("%s: applied %d, %v, want %d", what, v.applied, v.err, applied)
				}
			default:
				if applied >= 0 {
					t.Errorf("%s: still waits, want applied %d", what, applied)
				}
			}
		}
		const waits = -1
		first := r.append("a", "x")
		early := get(first)
		want("before Run", early, waits)
		r.start()
		want("after Run began", early, 1)

		second := r.append("a", "hold")
		<-h.reached
		other := r.append("b", "x") // beyond the others, but none of them
		third := r.append("a", "y")
		want("old token", get(first), 1)
		want("no token", get(materializer.Token{}), 1)
		held, all, foreign := get(second), get(first, third, second), get(other)
		want("in hand", held, waits)
		want("several", all, waits)
		want("token of another document", foreign, waits)
		close(h.goOn)
		want("several", all, 3)
		settle()
		for _, got := range []<-chan read{held, foreign} {
			if v := <-got; v.err != nil || v.applied < 2 {
				t.Errorf("applied %d, %v, want at least 2", v.applied, v.err)
			}
		}
		want("token of another document", get(other), 3)
	})
}

func TestAtLeastRefusesTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec()).start()
		token := r.append("a", "x")
		foreign := newRig(t, memory.New(nil), materializer.Config{}, spec()).append("a", "x")
		text := token.String()
		future, err := materializer.ParseToken(text[:len(text)-1] + "9")
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		for _, c := range []struct {
			token  materializer.Token
			target error
		}{
			{foreign, materializer.ErrForeignToken},
			{future, materializer.ErrFutureToken},
		} {
			_, err := r.texts.Get(t.Context(), "a", materializer.AtLeast(c.token))
			wantErr(t, err, c.target)
			_, err = r.texts.Get(t.Context(), "nobody", materializer.AtLeast(c.token))
			wantErr(t, err, c.target)
			wantErr(t, r.m.Wait(t.Context(), c.token), c.target)
			wantErr(t, r.texts.Wait(t.Context(), c.token, "a"), c.target)
		}
		_, err = r.texts.Get(t.Context(), "nobody", materializer.AtLeast(token))
		wantErr(t, err, materializer.ErrNotFound)
		if took := time.Since(start); took != 0 {
			t.Errorf("the refusals took %v, want none", took)
		}
	})
}

// A parked document is not waited for: its last good view comes at once.
func TestAtLeastOfAParkedDocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec()).start()
		good := r.append("a", "x")
		bad := r.append("a", "!permanent")
		start := time.Now()
		v, err := r.texts.Get(t.Context(), "a", materializer.AtLeast(bad))
		wantErr(t, err, materializer.ErrParked)
		if want := "refold: document is parked: fold of texts/a at seq 2: wrapped: planted failure"; err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
		if v.State.String() != "x" || v.Applied != 1 || v.Head != 2 || !v.Parked {
			t.Errorf("got %+v, want x, parked at 1 of 2", v)
		}
		if v, err = r.texts.Get(t.Context(), "a", materializer.AtLeast(good)); err != nil || !v.Parked {
			t.Errorf("what it contains: %+v, %v, want it parked without an error", v, err)
		}
		if v, err = r.texts.Get(t.Context(), "a"); err != nil || !v.Parked {
			t.Errorf("without a token: %+v, %v, want it parked without an error", v, err)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("reading took %v, want no time", took)
		}
	})
}

func TestAtLeastEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec())
		token := r.append("a", "x")
		start := time.Now()
		_, err := r.texts.Get(within(t, 3*time.Second), "a", materializer.AtLeast(token))
		wantErr(t, err, errTooLong)
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("it took %v, want 3 s", took)
		}
	})
}

// Who waits when Run returns is told why, whoever comes later too, and what is
// there can be read.
func TestAtLeastEndsWithRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHold()
		r := newRig(t, memory.New(nil), materializer.Config{Workers: 1, Grace: -1}, specOf(h.fold)).start()
		old := r.append("b", "x")
		settle()
		r.append("a", "hold")
		<-h.reached
		token := r.append("b", "y")
		got := make(chan error)
		go func() {
			_, err := r.texts.Get(t.Context(), "b", materializer.AtLeast(token))
			got <- err
		}()
		settle()
		stopped := r.halt()
		err := <-got
		wantErr(t, err, materializer.ErrNotRunning)
		wantErr(t, err, materializer.ErrGraceOver) // what Run returned
		_, err = r.texts.Get(t.Context(), "b", materializer.AtLeast(token))
		wantErr(t, err, materializer.ErrNotRunning)
		if fmt.Sprint(err) != fmt.Sprint(materializer.ErrNotRunning, ": ", stopped) {
			t.Errorf("got %q, want the error of Run, %q, behind it", err, stopped)
		}
		if v, err := r.texts.Get(t.Context(), "b", materializer.AtLeast(old)); err != nil || v.Applied != 1 {
			t.Errorf("got %+v, %v, want what is there", v, err)
		}
		close(h.goOn)
	})
}

// A materializer that never runs reads what another one makes.
func TestReadingWithoutRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		reader := newRig(t, st, materializer.Config{}, spec())
		r := newRig(t, st, materializer.Config{}, spec()).start()
		token := r.append("a", "x")
		settle()
		if v, err := reader.texts.Get(t.Context(), "a", materializer.AtLeast(token)); err != nil || v.State.String() != "x" {
			t.Errorf("got %+v, %v, want x", v, err)
		}
		if err := reader.m.Wait(t.Context(), token); err != nil {
			t.Error(err)
		}
		if v, err := reader.texts.Latest(t.Context(), "a"); err != nil || v.State.String() != "x" {
			t.Errorf("latest: got %+v, %v, want x", v, err)
		}
	})
}

func TestGetReportsAViewThatCannotBeDecoded(t *testing.T) {
	r := newRig(t, memory.New(nil), materializer.Config{}, spec())
	r.appendUnannounced("a", "x")
	if _, err := r.st.Commit(t.Context(), []store.Commit{{Key: key("a"), Applied: 1, View: []byte("{")}}); err != nil {
		t.Fatal(err)
	}
	_, err := r.texts.Get(t.Context(), "a")
	if err == nil || err.Error() != "refold: decoding the view of texts/a: unexpected end of JSON input" {
		t.Errorf("got %v, want an error that names the view", err)
	}
	r.st.Close() // so that the broken view is not checked
}
