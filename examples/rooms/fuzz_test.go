package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// Whatever the query: it is refused with what was wrong, or understood, and then
// its tokens have the same text again.
func FuzzQuestion(f *testing.F) {
	f.Add("since=00000000000000ff:m1&timeout=25000")
	f.Add("since=00000000000000ff%3Am1~2.3&atleast=ffffffffffffffff:m9")
	f.Add("since=&since=&timeout=0060000")
	f.Add("timeout=60001&atleast=m1~1.1")
	f.Fuzz(func(t *testing.T, text string) {
		query, err := url.ParseQuery(text)
		if err != nil {
			t.Skip()
		}
		q, bad := readQuestion(query)
		if bad != nil {
			if bad.Error == "" || bad.Want == "" {
				t.Errorf("%q: %+v", text, bad)
			}
			return
		}
		if q.since.String() != query.Get("since") || q.atLeast.String() != query.Get("atleast") {
			t.Errorf("%q is understood as %+v", text, q)
		}
		if q.timeout < 0 || q.timeout > mostTimeout {
			t.Errorf("%q: timeout %s", text, q.timeout)
		}
	})
}

// Whatever the request: it is answered, with a status that is meant, and with JSON
// where it is no page; and a message that is accepted is there as it was sent.
func FuzzHandlers(f *testing.F) {
	r := newRig(f)
	r.say("lobby", "1")
	meant := []int{200, 301, 303, 307, 308, 304, 400, 403, 404, 405, 409, 410, 413, 415}
	f.Add("GET", "/", "", "")
	f.Add("GET", "/sync?since=00000000000000ff:m1", "", "")
	f.Add("GET", "/rooms/lobby?atleast=x", "", "")
	f.Add("POST", "/rooms/lobby/messages", "application/json", `{"id":"1","name":"Ada","text":"<b>"}`)
	f.Add("POST", "/rooms/workshop/messages", "application/json;charset=utf-8", `{"name":"\ud800","text":"\u0000"}`)
	f.Add("PUT", "/rooms/%2e%2e/messages", "text/plain", "x")
	f.Add("HEAD", "/rooms.js", "", "")
	f.Fuzz(func(t *testing.T, method, target, kind, body string) {
		u, err := url.ParseRequestURI(target)
		if err != nil || !strings.HasPrefix(target, "/") || strings.ContainsAny(method, " \r\n") || method == "" {
			t.Skip() // net/http refuses it
		}
		if query := u.Query(); u.Path == "/sync" {
			query.Set("timeout", "0")
			u.RawQuery = query.Encode()
		}
		req := &http.Request{
			Method: method, URL: u, Host: "localhost", Header: http.Header{"Content-Type": {kind}},
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, RequestURI: target,
			Body: http.NoBody,
		}
		if method == http.MethodPost {
			req.Body = httptest.NewRequest(method, "/", strings.NewReader(body)).Body
		}
		w, started := httptest.NewRecorder(), time.Now()
		r.handler.ServeHTTP(w, req.WithContext(t.Context()))
		if !slices.Contains(meant, w.Code) {
			t.Errorf("%s %q: status %d: %s", method, target, w.Code, w.Body)
		}
		if d := time.Since(started); d > grace/2 {
			t.Errorf("%s %q took %s", method, target, d)
		}
		if w.Header().Get("Content-Type") != "application/json" {
			return
		}
		if !json.Valid(w.Body.Bytes()) || strings.ContainsAny(w.Body.String(), "<>") {
			t.Errorf("%s %q: %s", method, target, w.Body)
		}
		if method != http.MethodPost || w.Code != http.StatusOK {
			return
		}
		sent, _, bad := readMessage(strings.NewReader(body))
		got := decode[posted](t, w, http.StatusOK)
		view := decode[Room](t, r.get("/rooms/"+strings.Split(u.Path, "/")[2]+"?atleast="+got.Token.String()), http.StatusOK)
		if bad != nil || !slices.ContainsFunc(view.Latest, func(m Message) bool { return m.ID == got.ID && m.Said == sent.Said }) {
			// A message that was sent again may have left the latest ones.
			if view.Messages <= latest {
				t.Errorf("%q is not there: %+v", body, view)
			}
		}
	})
}
