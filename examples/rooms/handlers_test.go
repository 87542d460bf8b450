package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestPage(t *testing.T) {
	r := newRig(t, "lobby", `<script>alert(1)</script>`)
	for target, kind := range map[string]string{
		"/": "text/html; charset=utf-8", "/rooms.js": "text/javascript; charset=utf-8", "/rooms.css": "text/css; charset=utf-8",
	} {
		w := r.get(target)
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != kind {
			t.Errorf("%s: status %d, content type %q", target, w.Code, w.Header().Get("Content-Type"))
		}
		csp := w.Header().Get("Content-Security-Policy")
		if !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: policy %q", target, csp)
		}
		if w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s may be sniffed", target)
		}
	}
	html := r.get("/").Body.String()
	if !strings.Contains(html, `<section data-room="lobby"`) || strings.Contains(html, "<script>") {
		t.Errorf("the page is\n%s", html)
	}
	// What makes HTML of a text has no place here.
	if found := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b`).FindString(r.get("/rooms.js").Body.String()); found != "" {
		t.Errorf("the script uses %s", found)
	}
	for target, status := range map[string]int{"/page/index.html": 404, "/../main.go": 404, "/rooms/cellar": 404, "/rooms/": 404} {
		if w := r.get(target); w.Code != status && w.Code != http.StatusTemporaryRedirect {
			t.Errorf("%s: status %d", target, w.Code)
		}
	}
}

func TestPost(t *testing.T) {
	r := newRig(t)
	long := func(n int) string { return strings.Repeat("é", n) }
	for _, test := range []struct {
		name, body string
		status     int
		want       string
	}{
		{"good", `{"id":"a_-9","name":"Ada","text":"Hello"}`, 200, ""},
		{"without id", `{"name":"Ada","text":"Hello"}`, 200, ""},
		{"longest", `{"name":"` + long(maxName) + `","text":"` + long(maxText) + `"}`, 200, ""},
		{"lines", `{"name":"Ada","text":"one\n\ttwo"}`, 200, ""},
		{"nothing", ``, 400, "one object"},
		{"no JSON", `name=Ada`, 400, "one object"},
		{"array", `[]`, 400, "one object"},
		{"null", `null`, 400, "1 to 40 characters"},
		{"two", `{"name":"Ada","text":"Hello"}{}`, 400, "something follows"},
		{"unknown field", `{"name":"Ada","text":"Hello","seq":1}`, 400, "seq"},
		{"number", `{"name":1,"text":"Hello"}`, 400, "number"},
		{"no name", `{"text":"Hello"}`, 400, "name"},
		{"blank text", `{"name":"Ada","text":" \n "}`, 400, "text"},
		{"long name", `{"name":"` + long(maxName+1) + `","text":"x"}`, 400, "1 to 40"},
		{"long text", `{"name":"Ada","text":"` + long(maxText+1) + `"}`, 400, "1 to 2000"},
		{"name of two lines", `{"name":"A\nda","text":"x"}`, 400, "one line"},
		{"control character", `{"name":"Ada","text":"x\u0000"}`, 400, "text"},
		{"bad id", `{"id":"a b","name":"Ada","text":"x"}`, 400, "id"},
		{"long id", `{"id":"` + strings.Repeat("a", 65) + `","name":"Ada","text":"x"}`, 400, "1 to 64"},
		{"large", `{"name":"Ada","text":"` + strings.Repeat("a", maxBody) + `"}`, 413, "16384 bytes"},
		{"large behind", `{"name":"Ada","text":"x"}` + strings.Repeat(" ", maxBody), 413, "16384 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := r.post("lobby", test.body)
			if test.status == http.StatusOK {
				if got := decode[posted](t, w, test.status); got.ID == "" || got.Token.IsZero() {
					t.Errorf("%+v", got)
				}
				return
			}
			wantProblem(t, w, test.status, test.want)
		})
	}
	wantProblem(t, r.post("cellar", `{"name":"Ada","text":"x"}`), http.StatusNotFound, "cellar", "lobby")
	req := httptest.NewRequest(http.MethodPost, "/rooms/lobby/messages", strings.NewReader(`{"name":"Ada","text":"x"}`))
	req.Header.Set("Content-Type", "text/plain")
	wantProblem(t, r.do(req), http.StatusUnsupportedMediaType, "application/json")
}

// Another site's page cannot post with a visitor's browser.
func TestPostOfAnotherSite(t *testing.T) {
	r := newRig(t)
	req := httptest.NewRequest(http.MethodPost, "/rooms/lobby/messages", strings.NewReader(`{"name":"Ada","text":"x"}`))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Sec-Fetch-Site", "cross-site")
	if w := r.do(req); w.Code != http.StatusForbidden {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	if got := r.sync("", "0"); len(got.Messages) != 0 {
		t.Errorf("%+v", got)
	}
}

// Neither can one whose name leads to this machine.
func TestReboundName(t *testing.T) {
	r := newRig(t)
	server := httptest.NewServer(r.handler)
	defer server.Close()
	for host, status := range map[string]int{
		"": 200, "localhost": 200, "localhost:8080": 200, "127.0.0.1:8080": 200, "[::1]:8080": 200, "::1": 421,
		"evil.example": 421, "evil.example:8080": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example": 421,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/sync?timeout=0", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		res, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != status {
			t.Errorf("host %q: status %d, want %d", host, res.StatusCode, status)
		}
	}
}

func TestPostTwice(t *testing.T) {
	r := newRig(t)
	body := `{"id":"once","name":"Ada","text":"Hello"}`
	first, second := r.post("lobby", body), r.post("lobby", body)
	if first.Code != http.StatusOK || second.Code != http.StatusOK {
		t.Errorf("%s and %s", first.Body, second.Body)
	}
	wantProblem(t, r.post("lobby", `{"id":"once","name":"Ada","text":"Goodbye"}`), http.StatusConflict, "once")
	if got := r.sync("", "0").texts(); got != "lobby:Hello" {
		t.Errorf("there is %q", got)
	}
}

// A message is text, on the way in and on the way out.
func TestMarkupIsText(t *testing.T) {
	r := newRig(t)
	const attack = `<img src=x onerror="alert(1)"></script><script>alert(2)</script>`
	r.say("lobby", attack)
	w := r.get("/sync?timeout=0")
	if strings.ContainsAny(w.Body.String(), "<>") {
		t.Errorf("the answer has markup: %s", w.Body)
	}
	if got := decode[heard](t, w, http.StatusOK).texts(); got != "lobby:"+attack {
		t.Errorf("the message is %q", got)
	}
	if html := r.get("/").Body.String(); strings.Contains(html, "onerror") {
		t.Error("the page has it")
	}
}

// Without a writer the client is told whether to send again, with which id.
func TestPostWithoutWriter(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.chat.send = (&crew{jobs: make(chan *job)}).send
		started := time.Now()
		w := r.post("lobby", `{"id":"mine","name":"Ada","text":"x"}`)
		wantProblem(t, w, http.StatusServiceUnavailable, "nothing was stored", `"mine"`)
		if d := time.Since(started); d != grace {
			t.Errorf("it took %s", d)
		}
	})
}

// A client that leaves does not take its message back.
func TestPostOfALeaver(t *testing.T) {
	r := newRig(t)
	ctx, leave := context.WithCancel(t.Context())
	stored := r.chat.send
	r.chat.send = func(ctx context.Context, o order) (receipt, error) {
		leave()
		return stored(ctx, o)
	}
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, "/rooms/lobby/messages", strings.NewReader(`{"name":"Ada","text":"x"}`))
	req.Header.Set("Content-Type", "application/json")
	if w := r.do(req); w.Code != http.StatusOK || !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	if got := r.sync("", "0").texts(); got != "lobby:x" {
		t.Errorf("there is %q", got)
	}
}
