package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

// asProgram makes the test binary the program.
const asProgram = "ROOMS_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	if how := os.Getenv(badWriter); how != "" {
		writeBadly(how, os.Args[len(os.Args)-1])
	}
	os.Exit(m.Run())
}

// rig is a chat over the memory store, whose messages are appended by the server.
type rig struct {
	t       testing.TB
	st      *memory.Store
	chat    *chat
	handler http.Handler
}

func newRig(t testing.TB, names ...string) *rig {
	t.Helper()
	st := memory.New(nil)
	m, err := materializer.New(st, materializer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	rooms, err := register(m)
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		names = []string{"lobby", "workshop"}
	}
	c := &chat{m: m, rooms: rooms, names: names, send: func(ctx context.Context, o order) (receipt, error) {
		return say(ctx, m, rooms, o), nil
	}}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, st.Close()); err != nil {
			t.Error(err)
		}
	})
	return &rig{t, st, c, c.handler()}
}

// bubble runs a test with a rig in fake time.
func bubble(t *testing.T, test func(t *testing.T, r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		synctest.Wait()
		test(t, r)
	})
}

func (r *rig) do(req *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, req)
	return w
}

func (r *rig) get(target string) *httptest.ResponseRecorder {
	return r.do(httptest.NewRequest(http.MethodGet, target, nil))
}

func (r *rig) post(room, body string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(http.MethodPost, "/rooms/"+room+"/messages", strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	return r.do(req)
}

// say posts a message, which must succeed, and returns the token.
func (r *rig) say(room, text string) string {
	r.t.Helper()
	body, err := json.Marshal(map[string]string{"name": "Ada", "text": text})
	if err != nil {
		r.t.Fatal(err)
	}
	return decode[struct{ Token string }](r.t, r.post(room, string(body)), http.StatusOK).Token
}

// heard is the answer of /sync, as a client sees it.
type heard struct {
	Since    string
	Reset    bool
	Messages []Message
	Rooms    []count
}

func (h heard) texts() string {
	var texts []string
	for _, m := range h.Messages {
		texts = append(texts, m.Room+":"+m.Text)
	}
	return strings.Join(texts, " ")
}

// sync asks for what is new; timeout is as in the query.
func (r *rig) sync(since, timeout string) heard {
	r.t.Helper()
	return decode[heard](r.t, r.get("/sync?"+url.Values{"since": {since}, "timeout": {timeout}}.Encode()), http.StatusOK)
}

func decode[T any](t testing.TB, w *httptest.ResponseRecorder, status int) (v T) {
	t.Helper()
	if w.Code != status {
		t.Fatalf("status %d, want %d: %s", w.Code, status, w.Body)
	}
	if kind := w.Header().Get("Content-Type"); kind != "application/json" {
		t.Errorf("content type %q", kind)
	}
	if err := json.NewDecoder(bytes.NewReader(w.Body.Bytes())).Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, w.Body)
	}
	return v
}

// wantProblem checks that an answer says what is wrong and what is wanted.
func wantProblem(t testing.TB, w *httptest.ResponseRecorder, status int, parts ...string) {
	t.Helper()
	p := decode[problem](t, w, status)
	for _, part := range parts {
		if !strings.Contains(p.Error+"\n"+p.Want, part) {
			t.Errorf("%q does not say %q", cmp.Or(p.Error+"; "+p.Want, "nothing"), part)
		}
	}
}
