package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestSyncAnswersOnlyWhatIsNew(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.say("lobby", "1")
		r.say("workshop", "2")
		first := r.sync("", "0")
		if !first.Reset || first.texts() != "lobby:1 workshop:2" {
			t.Errorf("at first %+v", first)
		}
		r.say("workshop", "3")
		r.say("lobby", "4")
		r.say("workshop", "5")
		next := r.sync(first.Since, "0")
		if next.Reset || next.texts() != "workshop:3 lobby:4 workshop:5" {
			t.Errorf("then %+v", next)
		}
		if want := []count{{"lobby", 2}, {"workshop", 3}}; !slices.Equal(next.Rooms, want) {
			t.Errorf("rooms %v, want %v", next.Rooms, want)
		}
		if seqs := []int64{next.Messages[0].Seq, next.Messages[1].Seq, next.Messages[2].Seq}; !slices.Equal(seqs, []int64{2, 2, 3}) {
			t.Errorf("seqs %v", seqs)
		}
		if again := r.sync(first.Since, "0"); again.texts() != next.texts() || again.Since != next.Since {
			t.Errorf("asked again %+v", again)
		}
		if last := r.sync(next.Since, "0"); len(last.Messages) != 0 || last.Since != next.Since {
			t.Errorf("at last %+v", last)
		}
	})
}

func TestSyncAnswersEarlyWhenSomebodySpeaks(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.say("lobby", "1")
		since := r.sync("", "0").Since
		started := time.Now()
		answers := make(chan heard, 3)
		for range cap(answers) {
			go func() { answers <- r.sync(since, "60000") }()
		}
		time.Sleep(7 * time.Second)
		synctest.Wait()
		if len(answers) != 0 {
			t.Fatal("an answer before anything was new")
		}
		r.say("workshop", "2")
		for range cap(answers) {
			if got := <-answers; got.texts() != "workshop:2" {
				t.Errorf("%+v", got)
			}
		}
		if d := time.Since(started); d != 7*time.Second {
			t.Errorf("answered after %s", d)
		}
	})
}

func TestSyncAnswersAtItsTimeout(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		empty := r.sync("", "0")
		if empty.Since != "" || !empty.Reset || empty.Messages == nil {
			t.Errorf("an empty store answers %+v", empty)
		}
		timed := func(since, timeout string, want time.Duration) {
			t.Helper()
			started := time.Now()
			got := r.sync(since, timeout)
			if len(got.Messages) != 0 || got.Since != since {
				t.Errorf("%+v", got)
			}
			if d := time.Since(started); d != want {
				t.Errorf("answered after %s, want %s", d, want)
			}
		}
		timed("", "3000", 3*time.Second) // nobody has said anything: no busy loop
		r.say("lobby", "1")
		since := r.sync("", "0").Since
		timed(since, "0", 0)
		timed(since, "1500", 1500*time.Millisecond)
		timed(since, "60000", time.Minute)
		timed(since, "", usualTimeout)
	})
}

// Rooms that this server does not have are passed over, also while it waits.
func TestSyncOfOtherRooms(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.say("lobby", "1")
		since := r.sync("", "0").Since
		answer := make(chan heard)
		go func() { answer <- r.sync(since, "60000") }()
		synctest.Wait()
		for range 3 {
			got := say(t.Context(), r.chat.m, r.chat.rooms, order{Room: "cellar", Said: Said{"Ada", "psst"}})
			if got.Error != "" {
				t.Fatal(got.Error)
			}
			synctest.Wait()
		}
		r.say("lobby", "2")
		if got := <-answer; got.texts() != "lobby:2" {
			t.Errorf("%+v", got)
		}
	})
}

func TestSyncEndsWhenItsClientLeaves(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.say("lobby", "1")
		since := r.sync("", "0").Since
		for _, cause := range []error{nil, errStopping} {
			ctx, leave := context.WithCancelCause(t.Context())
			w := httptest.NewRecorder()
			done := make(chan struct{})
			go func() {
				defer close(done)
				r.handler.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/sync?since="+since, nil))
			}()
			time.Sleep(time.Second)
			started := time.Now()
			leave(cause)
			<-done
			if d := time.Since(started); d != 0 {
				t.Errorf("%v: it ended after %s", cause, d)
			}
			wantProblem(t, w, http.StatusServiceUnavailable, context.Cause(ctx).Error(), "later")
		}
	})
}

// The token of a POST makes sync and view have the message at once; it is not lost
// that others spoke meanwhile.
func TestReadYourWrites(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.say("lobby", "0")
		since := r.sync("", "0").Since
		r.say("lobby", "theirs")
		started := time.Now()
		token := r.say("lobby", "mine")
		view := decode[Room](t, r.get("/rooms/lobby?atleast="+token), http.StatusOK)
		if n := len(view.Latest); n != 3 || view.Messages != 3 || view.Latest[n-1].Text != "mine" {
			t.Errorf("the view is %+v", view)
		}
		got := decode[heard](t, r.get("/sync?since="+since+"&atleast="+token), http.StatusOK)
		if got.texts() != "lobby:theirs lobby:mine" || got.Rooms[0].Messages != 3 {
			t.Errorf("%+v", got)
		}
		if d := time.Since(started); d != 0 {
			t.Errorf("it took %s", d)
		}
	})
}

// A token that this store cannot serve is refused at once, whatever the timeout.
func TestTokensOfElsewhere(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.say("lobby", "1")
		since := r.sync("", "0").Since
		incarnation, _, _ := strings.Cut(since, ":")
		started := time.Now()
		for _, token := range []string{
			"00000000000000ff:m1",   // another store
			incarnation + ":m2",     // the future
			incarnation + ":m0~3.1", // a writer that this store has not
		} {
			for _, target := range []string{"/sync?timeout=60000&since=", "/sync?atleast=", "/rooms/lobby?atleast="} {
				w := r.get(target + token)
				wantProblem(t, w, http.StatusGone, "start over")
			}
		}
		if d := time.Since(started); d != 0 {
			t.Errorf("it took %s", d)
		}
	})
}

func TestBadQuestions(t *testing.T) {
	r := newRig(t)
	cursor := "00000000000000ff:c1"
	for query, want := range map[string]string{
		"since=x":                                "no colon",
		"since=00000000000000ff:m01":             "not canonical",
		"since=" + cursor:                        "since",
		"since=" + strings.Repeat("f", 5000):     "5000 bytes",
		"atleast=00000000000000FF:m1":            "lower-case",
		"since=&since=":                          "2 times",
		"timeout=1&timeout=2":                    "2 times",
		"timeout=-1":                             "0 to 60000",
		"timeout=60001":                          "0 to 60000",
		"timeout=1.5":                            "milliseconds",
		"timeout=99999999999999999999":           "0 to 60000",
		"timeout=25s":                            `"25s"`,
		"since=00000000000000ff%3Am1%00":         "byte 19",
		"since=%D9%A1%D9%A1":                     "no colon",
		"atleast=00000000000000ff:m1,x&since=":   "atleast",
		"atleast=0000000000000000:m1&timeout=10": "not 0",
	} {
		t.Run(query[:min(len(query), 40)], func(t *testing.T) {
			wantProblem(t, r.get("/sync?"+query), http.StatusBadRequest, want)
		})
	}
}

// Who has missed more than an answer may have begins again, with the latest.
func TestSyncAfterMuch(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.say("lobby", "0")
		since := r.sync("", "0").Since
		for i := range mostNews {
			r.say("lobby", fmt.Sprint(i+1))
		}
		if got := r.sync(since, "0"); got.Reset || len(got.Messages) != mostNews {
			t.Errorf("%d messages, reset %t", len(got.Messages), got.Reset)
		}
		r.say("lobby", "last")
		got := r.sync(since, "0")
		if !got.Reset || len(got.Messages) != latest || got.Messages[latest-1].Text != "last" || got.Rooms[0].Messages != mostNews+2 {
			t.Errorf("%d messages, reset %t, rooms %v", len(got.Messages), got.Reset, got.Rooms)
		}
		if next := r.sync(got.Since, "0"); len(next.Messages) != 0 {
			t.Errorf("then %+v", next)
		}
	})
}

// While others speak all the time, who begins and goes on gets each message once.
func TestBeginAmongOthers(t *testing.T) {
	const n = 40
	bubble(t, func(t *testing.T, r *rig) {
		r.say("lobby", "0")
		spoken := make(chan struct{})
		go func() {
			defer close(spoken)
			for i := range n {
				r.say("lobby", fmt.Sprint(i+1))
			}
		}()
		got := r.sync("", "0")
		texts := got.texts()
		for range n {
			if got = r.sync(got.Since, "1000"); len(got.Messages) == 0 {
				break
			}
			texts += " " + got.texts()
		}
		<-spoken
		want := "lobby:0"
		for i := range n {
			want += fmt.Sprintf(" lobby:%d", i+1)
		}
		if texts != want {
			t.Errorf("%s\nwant %s", texts, want)
		}
	})
}
