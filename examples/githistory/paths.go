package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"
)

// unquote undoes git's quoting of a path: "…" with \a \b \t \n \v \f \r \" \\
// and three octal digits for a byte.
func unquote(s string) (string, error) {
	bad := func(what string) (string, error) {
		return "", fmt.Errorf("quoted path %.200q: %s", s, what)
	}
	if len(s) < 3 || s[0] != '"' || s[len(s)-1] != '"' {
		return bad("want text between two quotation marks")
	}
	in := s[1 : len(s)-1]
	out := make([]byte, 0, len(in))
	for i := 0; i < len(in); i++ {
		switch c := in[i]; {
		case c == '"':
			return bad("a quotation mark inside is not escaped")
		case c != '\\':
			out = append(out, c)
		case i+1 == len(in):
			return bad("it ends in half an escape")
		default:
			i++
			if e := strings.IndexByte(escapeLetters, in[i]); e >= 0 {
				out = append(out, escapeBytes[e])
				continue
			}
			b, ok := octal(in[i:])
			if !ok {
				return bad(fmt.Sprintf("unknown escape \\%c", in[i]))
			}
			out = append(out, b)
			i += 2
		}
	}
	return string(out), nil
}

const (
	escapeLetters = `abtnvfr"\`
	escapeBytes   = "\a\b\t\n\v\f\r\"\\"
)

// octal reads three octal digits at the start of s.
func octal(s string) (byte, bool) {
	if len(s) < 3 || s[0] > '3' {
		return 0, false
	}
	n := 0
	for _, c := range []byte(s[:3]) {
		if c < '0' || c > '7' {
			return 0, false
		}
		n = n<<3 | int(c-'0')
	}
	return byte(n), true
}

// quote is git's form of a path (with core.quotePath, as is its default):
// unchanged if it has nothing but printable ASCII, otherwise quoted.
func quote(path string) string {
	if strings.IndexFunc(path, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) < 0 {
		return path
	}
	out := make([]byte, 0, 2*len(path)+2)
	out = append(out, '"')
	for _, c := range []byte(path) {
		if e := strings.IndexByte(escapeBytes, c); e >= 0 {
			out = append(out, '\\', escapeLetters[e])
		} else if c < ' ' || c > '~' {
			out = append(out, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
		} else {
			out = append(out, c)
		}
	}
	return string(append(out, '"'))
}

const (
	maxID   = 512 // bytes of a document id
	cutHash = 16  // bytes of the hash that tells cut paths apart
)

// documentID is the id of the document of a path: the path itself, or git's
// quoted form if the path cannot be an id, cut to 512 bytes with a hash of the
// path at the end. Different paths have different ids: a path that looks like
// the form of another is quoted or cut as well.
func documentID(path string) string {
	if !needsForm(path) {
		return path
	}
	form := quote(path)
	if len(form) <= maxID && !isCut(form) {
		return form
	}
	sum := sha256.Sum256([]byte(path))
	tail := "~" + hex.EncodeToString(sum[:cutHash])
	return form[:maxID-len(tail)] + tail // a form that is cut is ASCII
}

// needsForm reports whether path cannot be a document id as it is, or could be
// taken for the id of one that cannot.
func needsForm(path string) bool {
	if path == "" || len(path) > maxID || !utf8.ValidString(path) || strings.IndexByte(path, 0) >= 0 || isCut(path) {
		return true
	}
	if path[0] != '"' {
		return false
	}
	inner, err := unquote(path)
	return err == nil && quote(inner) == path && needsForm(inner)
}

// isCut reports whether s has the shape of an id that was cut.
func isCut(s string) bool {
	tail := len(s) - 2*cutHash
	return len(s) == maxID && s[tail-1] == '~' && strings.Trim(s[tail:], "0123456789abcdef") == ""
}
