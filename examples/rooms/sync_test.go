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

	"github.com/refold-go/refold/materializer"
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
		if _, place, _ := strings.Cut(empty.Since, ":"); place != "m0" || !empty.Reset || empty.Messages == nil {
			t.Errorf("an empty store answers %+v", empty)
		}
		if want := []count{{"lobby", 0}, {"workshop", 0}}; !slices.Equal(empty.Rooms, want) {
			t.Errorf("rooms %v, want %v", empty.Rooms, want)
		}
		timed := func(since, timeout string, want time.Duration) {
			t.Helper()
			started := time.Now()
			got := r.sync(since, timeout)
			if len(got.Messages) != 0 || got.Since != since || got.Reset {
				t.Errorf("%+v", got)
			}
			if d := time.Since(started); d != want {
				t.Errorf("answered after %s, want %s", d, want)
			}
		}
		began := time.Now()
		if again := r.sync("", "3000"); again.Since != empty.Since || time.Since(began) != 0 {
			t.Errorf("who begins is answered %+v after %s", again, time.Since(began))
		}
		timed(empty.Since, "3000", 3*time.Second) // nobody has said anything: no busy loop
		r.say("lobby", "1")
		since := r.sync(empty.Since, "60000").Since
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
		// Who asks then goes on behind what is not for him.
		if got := r.sync(since, "0"); len(got.Messages) != 0 || !strings.HasSuffix(got.Since, ":m4") {
			t.Errorf("%+v", got)
		}
		r.say("lobby", "2")
		if got := <-answer; got.texts() != "lobby:2" {
			t.Errorf("%+v", got)
		}
	})
}

// What no view has is passed over: a message that was discarded, and one that another
// program wrote in a form of its own, at which its room parks.
func TestSyncOfWhatNoViewHas(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		since := r.sync("", "0").Since
		r.say("lobby", "1")
		r.say("workshop", "1")
		strange(t, r, "lobby")
		strange(t, r, "workshop")
		time.Sleep(time.Hour) // both are parked then
		r.say("workshop", "rude")
		for _, seq := range []int64{3, 2} {
			if err := r.chat.rooms.Discard(t.Context(), "workshop", seq, "me", "it was not meant"); err != nil {
				t.Fatal(err)
			}
		}
		r.say("lobby", "2")
		r.say("workshop", "2")
		got := r.sync(since, "0")
		if got.texts() != "lobby:1 workshop:1 lobby:2 workshop:2" {
			t.Errorf("%+v", got)
		}
		// The view of the lobby is parked before the last message, which is counted
		// nevertheless.
		if want := []count{{"lobby", 2}, {"workshop", 2}}; !slices.Equal(got.Rooms, want) {
			t.Errorf("rooms %v, want %v", got.Rooms, want)
		}
	})
}

// strange appends an operation to a room that is no message.
func strange(t *testing.T, r *rig, room string) {
	t.Helper()
	other, err := materializer.New(r.st, materializer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	texts, err := materializer.Register(other, materializer.Spec[Room, string]{
		Name: r.chat.rooms.Name(), Version: 1, Fold: func(r Room, _ materializer.Operation[string]) (Room, error) { return r, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := texts.Append(t.Context(), room, "no message"); err != nil {
		t.Fatal(err)
	}
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

// Who has missed more than an answer may have gets all of it in several, at once and
// each message once.
func TestSyncAfterMuch(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.say("lobby", "0")
		since := r.sync("", "0").Since
		for i := range 2*mostNews + 1 {
			r.say([]string{"lobby", "workshop"}[i%2], fmt.Sprint(i))
		}
		synctest.Wait() // the views have it all, and their counts are exact
		started := time.Now()
		missed := 0
		for _, want := range []int{mostNews, mostNews, 1} {
			got := r.sync(since, "60000")
			if got.Reset || len(got.Messages) != want {
				t.Fatalf("%d messages, reset %t, want %d", len(got.Messages), got.Reset, want)
			}
			for _, m := range got.Messages {
				if m.Text != fmt.Sprint(missed) {
					t.Fatalf("%q comes as number %d", m.Text, missed)
				}
				missed++
			}
			if rooms := got.Rooms; rooms[0] != (count{"lobby", mostNews + 2}) {
				t.Errorf("rooms %v", rooms)
			}
			since = got.Since
		}
		if d := time.Since(started); d != 0 {
			t.Errorf("it took %s", d)
		}
		if next := r.sync(since, "0"); len(next.Messages) != 0 {
			t.Errorf("then %+v", next)
		}
		// Who does not want all of that begins again.
		if got := r.sync("", "0"); !got.Reset || len(got.Messages) != 2*latest || got.Since != since {
			t.Errorf("%d messages, reset %t, since %s", len(got.Messages), got.Reset, got.Since)
		}
	})
}

// More than mostWaiting clients are not let wait; who asks for what is there already
// is no such client.
func TestSyncOfACrowd(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.say("lobby", "1")
		since := r.sync("", "0").Since
		answers := make(chan heard, mostWaiting)
		for range mostWaiting {
			go func() { answers <- r.sync(since, "60000") }()
		}
		synctest.Wait()
		started := time.Now()
		for range 3 { // to be refused takes no place
			w := r.get("/sync?since=" + since)
			wantProblem(t, w, http.StatusServiceUnavailable, "too many", "timeout=0")
			if after := w.Header().Get("Retry-After"); after != "5" {
				t.Errorf("Retry-After is %q", after)
			}
		}
		if got := r.sync(since, "0"); len(got.Messages) != 0 || got.Since != since {
			t.Errorf("%+v", got)
		}
		if got := r.sync("", "60000"); got.texts() != "lobby:1" {
			t.Errorf("who begins gets %+v", got)
		}
		if d := time.Since(started); d != 0 {
			t.Errorf("it took %s", d)
		}
		r.say("lobby", "2")
		for range mostWaiting {
			if got := <-answers; got.texts() != "lobby:2" {
				t.Fatalf("%+v", got)
			}
		}
		since = r.sync(since, "60000").Since
		if got := r.sync(since, "1000"); len(got.Messages) != 0 {
			t.Errorf("%+v", got)
		}
		if d := time.Since(started); d != time.Second {
			t.Errorf("who comes after the crowd waits for %s", d)
		}
	})
}

// What is in the log behind a view comes with the answer, and is counted.
func TestBeginBehindAView(t *testing.T) {
	const n = 40
	bubble(t, func(t *testing.T, r *rig) {
		r.say("lobby", "0")
		least, err := materializer.ParseToken(r.sync("", "0").Since)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.chat.rooms.Pause(t.Context()); err != nil {
			t.Fatal(err)
		}
		say := func(n int) (last string) {
			for range n {
				last = r.say("lobby", "x")
			}
			return last
		}
		last := say(n)
		got, ok, err := r.chat.beginFrom(t.Context(), least)
		if err != nil || !ok || len(got.Messages) != n+1 || got.Messages[n].Seq != n+1 || got.Since.String() != last {
			t.Errorf("%t, %v, %+v, want %d messages up to %s", ok, err, got, n+1, last)
		}
		if want := []count{{"lobby", n + 1}, {"workshop", 0}}; !slices.Equal(got.Rooms, want) {
			t.Errorf("rooms %v, want %v", got.Rooms, want)
		}
		say(mostNews - n)
		if got, ok, err := r.chat.beginFrom(t.Context(), least); !ok || err != nil || len(got.Messages) != mostNews+1 {
			t.Errorf("%d messages, %t, %v", len(got.Messages), ok, err)
		}
		say(1)
		if got, ok, err := r.chat.beginFrom(t.Context(), least); ok || err != nil {
			t.Errorf("with one more than an answer may have: %d messages, %v", len(got.Messages), err)
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
			if last := got.Messages[len(got.Messages)-1].Seq; got.Rooms[0].Messages < last {
				t.Errorf("%d messages are counted, and number %d is among them", got.Rooms[0].Messages, last)
			}
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
