package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/refold-go/refold/materializer"
)

// Limits of what a client may send.
const (
	maxBody = 16 << 10 // bytes
	maxName = 40       // characters
	maxText = 2000     // characters

	usualTimeout = 25 * time.Second
	mostTimeout  = 60 * time.Second
)

var messageID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// readMessage reads the body of a POST. If it is bad, the status and the problem
// say how.
func readMessage(body io.Reader) (o order, status int, bad *problem) {
	var said struct {
		ID   string `json:"id"`
		Name string `json:"name"`
		Text string `json:"text"`
	}
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	err := d.Decode(&said)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("something follows the object")
			if _, large := errors.AsType[*http.MaxBytesError](more); large {
				err = more
			}
		}
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return o, http.StatusRequestEntityTooLarge, &problem{err.Error(), fmt.Sprintf("at most %d bytes", maxBody)}
	}
	if err != nil {
		return o, http.StatusBadRequest, &problem{err.Error(), `one object like {"id": "…", "name": "…", "text": "…"}`}
	}
	said.Name, said.Text = strings.TrimSpace(said.Name), strings.TrimSpace(said.Text)
	if said.ID == "" {
		said.ID = rand.Text()
	}
	switch {
	case !messageID.MatchString(said.ID):
		bad = &problem{fmt.Sprintf("id %.100q", said.ID), "1 to 64 of A-Z, a-z, 0-9, - and _, or none"}
	case !plain(said.Name, maxName, ""):
		bad = &problem{fmt.Sprintf("name %.100q", said.Name), fmt.Sprintf("1 to %d characters on one line", maxName)}
	case !plain(said.Text, maxText, "\n\t"):
		bad = &problem{fmt.Sprintf("text %.100q", said.Text), fmt.Sprintf("1 to %d characters", maxText)}
	}
	return order{ID: said.ID, Said: Said{said.Name, said.Text}}, http.StatusBadRequest, bad
}

// plain reports whether a text has 1 to most characters, and of control characters
// only those named.
func plain(text string, most int, control string) bool {
	n := utf8.RuneCountInString(text)
	return n >= 1 && n <= most && !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) && !strings.ContainsRune(control, r)
	})
}

// question is what a client asks /sync.
type question struct {
	since   materializer.Token // the zero token: it has nothing
	atLeast materializer.Token
	timeout time.Duration
}

func readQuestion(query url.Values) (q question, bad *problem) {
	if q.since, bad = readToken(query, "since"); bad != nil {
		return q, bad
	}
	if q.atLeast, bad = readToken(query, "atleast"); bad != nil {
		return q, bad
	}
	text, bad := one(query, "timeout")
	if bad != nil || text == "" {
		q.timeout = usualTimeout
		return q, bad
	}
	ms, err := strconv.ParseUint(text, 10, 32)
	q.timeout = time.Duration(ms) * time.Millisecond
	if err != nil || q.timeout > mostTimeout {
		return q, &problem{fmt.Sprintf("timeout %.100q", text), fmt.Sprintf("milliseconds, 0 to %d", mostTimeout.Milliseconds())}
	}
	return q, nil
}

// readToken reads a token of the query; none is the zero token.
func readToken(query url.Values, name string) (materializer.Token, *problem) {
	text, bad := one(query, name)
	if bad != nil {
		return materializer.Token{}, bad
	}
	token, err := materializer.ParseToken(text)
	if err != nil {
		return token, &problem{fmt.Sprintf("%s: %v", name, err), "what an answer had as since or token, unchanged, or none"}
	}
	return token, nil
}

func one(query url.Values, name string) (string, *problem) {
	if n := len(query[name]); n > 1 {
		return "", &problem{fmt.Sprintf("%s is given %d times", name, n), "once at most"}
	}
	return query.Get(name), nil
}
