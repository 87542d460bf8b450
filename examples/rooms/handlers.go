package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/refold-go/refold/materializer"
)

//go:embed page
var files embed.FS

var page = template.Must(template.ParseFS(files, "page/index.html"))

// chat answers requests.
type chat struct {
	m     *materializer.Materializer
	rooms *rooms
	names []string // of the rooms that there are
	// send has a message appended, see [crew.send].
	send func(ctx context.Context, o order) (receipt, error)
	// waiting counts the clients that wait for news, see [mostWaiting].
	waiting atomic.Int64
}

func (c *chat) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", c.page)
	for _, name := range []string{"rooms.js", "rooms.css"} {
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) {
			http.ServeFileFS(w, r, files, "page/"+name)
		})
	}
	mux.HandleFunc("GET /sync", c.sync)
	mux.HandleFunc("GET /rooms/{room}", c.view)
	mux.HandleFunc("POST /rooms/{room}/messages", c.post)
	return secure(http.NewCrossOriginProtection().Handler(mux))
}

// secure lets the page load what is from here and nothing else, and keeps pages of
// other sites away.
func secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "+
			"base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if rebound(r) {
			refuse(w, http.StatusMisdirectedRequest, problem{fmt.Sprintf("host %.100q", r.Host), "localhost or an address"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// rebound reports whether a request to this machine names it by a name that is not
// its own: another site has had its name lead here, so that its pages count as ours.
func rebound(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok || !local.IP.IsLoopback() {
		return false
	}
	host := (&url.URL{Host: r.Host}).Hostname()
	return host != "localhost" && net.ParseIP(host) == nil
}

func (c *chat) page(w http.ResponseWriter, _ *http.Request) {
	var b bytes.Buffer
	if err := page.Execute(&b, map[string]any{"Rooms": c.names, "MaxName": maxName, "MaxText": maxText}); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(b.Bytes())
}

// post has a message appended, and answers when it is durable.
func (c *chat) post(w http.ResponseWriter, r *http.Request) {
	room := r.PathValue("room")
	if !slices.Contains(c.names, room) {
		c.noRoom(w, room)
		return
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, problem{
			fmt.Sprintf("content type %.100q", r.Header.Get("Content-Type")), "application/json",
		})
		return
	}
	http.NewResponseController(w).SetReadDeadline(time.Now().Add(grace)) // a recorder in a test has none
	o, status, bad := readMessage(http.MaxBytesReader(w, r.Body, maxBody))
	if bad != nil {
		refuse(w, status, *bad)
		return
	}
	o.Room = room
	// A client that leaves does not take its message back.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), grace)
	defer cancel()
	got, err := c.send(ctx, o)
	switch {
	case err != nil:
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, problem{err.Error(), fmt.Sprintf("the same again, with the id %q", o.ID)})
	case got.Error != "":
		refuse(w, got.Status, problem{Error: got.Error})
	default:
		answer(w, http.StatusOK, posted{ID: o.ID, Token: got.Token})
	}
}

// posted is the answer to a POST.
type posted struct {
	ID    string             `json:"id"`
	Token materializer.Token `json:"token"` // for atleast
}

// view answers with the view of a room.
func (c *chat) view(w http.ResponseWriter, r *http.Request) {
	room := r.PathValue("room")
	if !slices.Contains(c.names, room) {
		c.noRoom(w, room)
		return
	}
	atLeast, bad := readToken(r.URL.Query(), "atleast")
	if bad != nil {
		refuse(w, http.StatusBadRequest, *bad)
		return
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), grace, errSlow)
	defer cancel()
	view, err := c.read(ctx, room, atLeast)
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, http.StatusOK, view)
}

func (c *chat) noRoom(w http.ResponseWriter, room string) {
	refuse(w, http.StatusNotFound, problem{fmt.Sprintf("there is no room %.64q", room), fmt.Sprintf("one of %q", c.names)})
}

// problem is the answer to what cannot be answered.
type problem struct {
	Error string `json:"error"`
	Want  string `json:"want,omitempty"`
}

func refuse(w http.ResponseWriter, status int, p problem) { answer(w, status, p) }

func answer(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(text, '\n')) // who has left does not read it
}
