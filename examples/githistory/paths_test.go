package main

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestUnquote(t *testing.T) {
	for quoted, want := range map[string]string{
		`"\303\244.txt"`:          "ä.txt",
		`"a\tb\nc\"d\\e"`:         "a\tb\nc\"d\\e",
		`"\a\b\v\f\r\001\177"`:    "\a\b\v\f\r\x01\x7f",
		`"\344"`:                  "\xe4",
		`"\000\377"`:              "\x00\xff",
		`"plain"`:                 "plain",
		"\"raw ä\\t\"":            "raw ä\t", // with core.quotePath off
		`"\\303"`:                 `\303`,
		`"\""`:                    `"`,
		`"\1234"`:                 "S4",
		`"dir/\342\202\254/file"`: "dir/€/file",
	} {
		got, err := unquote(quoted)
		if err != nil || got != want {
			t.Errorf("unquote(%s) = %q, %v; want %q", quoted, got, err, want)
		}
	}
	for _, bad := range []string{
		``, `"`, `""`, `a`, `"a`, `a"`, `"a"b"`, `"\"`, `"\x"`, `"\18"`, `"\1"`, `"\12"`, `"\400"`, `"\128"`, `"a\"`,
	} {
		if got, err := unquote(bad); err == nil {
			t.Errorf("unquote(%s) = %q, want an error", bad, got)
		}
	}
}

func TestQuote(t *testing.T) {
	for path, want := range map[string]string{
		"a b/c~d":        "a b/c~d",
		"ä":              `"\303\244"`,
		"\xe4\x7f\x01":   `"\344\177\001"`,
		`a"b\`:           `"a\"b\\"`,
		"\a\b\t\n\v\f\r": `"\a\b\t\n\v\f\r"`,
	} {
		if got := quote(path); got != want {
			t.Errorf("quote(%q) = %s, want %s", path, got, want)
		}
	}
}

func TestDocumentID(t *testing.T) {
	as512 := strings.Repeat("a", 512)
	for path, want := range map[string]string{
		"go.mod":             "go.mod",
		"ä\t\"\\\n":          "ä\t\"\\\n",
		`"quoted".txt`:       `"quoted".txt`,
		`"quoted"`:           `"quoted"`,
		"\xe4":               `"\344"`,
		"nul\x00":            `"nul\000"`,
		`"\344"`:             `"\"\\344\""`, // the form of the one above is taken
		`"\"\\344\""`:        `"\"\\\"\\\\344\\\"\""`,
		as512:                as512,
		"\xe4" + as512[:400]: `"\344` + as512[:400] + `"`,
	} {
		if got := documentID(path); got != want {
			t.Errorf("documentID(%q) = %s, want %s", path, got, want)
		}
	}
	// What is cut has 512 bytes, of which the last 33 are a mark and a hash.
	for path, start := range map[string]string{
		as512 + "a":          as512[:479],
		"ä" + as512:          `"\303\244` + as512[:470],
		as512[:511] + "\xff": `"` + as512[:478],
	} {
		got := documentID(path)
		if len(got) != 512 || !strings.HasPrefix(got, start+"~") || !isCut(got) {
			t.Errorf("documentID(%.20q…) = %s, want %s~ and a hash", path, got, start)
		}
	}
}

func TestDocumentIDsStayDistinct(t *testing.T) {
	a := strings.Repeat("a", 600)
	paths := []string{a, a + "b", a + "c", strings.Repeat("\xff", 400), strings.Repeat("\xff", 401), "\xff", `"\377"`, `"\"\\377\""`}
	for _, p := range paths {
		paths = append(paths, documentID(p), quote(p), documentID(documentID(p)))
	}
	byID := map[string]string{}
	for _, p := range paths {
		id := documentID(p)
		if other, taken := byID[id]; taken && other != p {
			t.Errorf("%.60q and %.60q have the same id %s", p, other, id)
		}
		byID[id] = p
	}
}

func FuzzPaths(f *testing.F) {
	for _, s := range []string{"a", "ä", "\xe4", `"`, `\`, `"\344"`, "\x00", "\t\n\r\a\b\v\f\x7f", strings.Repeat("ü", 300), `"\"\\344\""`} {
		f.Add(s, s)
		f.Add(s, documentID(s))
	}
	f.Fuzz(func(t *testing.T, p, q string) {
		if form := quote(p); form != p {
			if back, err := unquote(form); err != nil || back != p {
				t.Errorf("unquote(%s) = %q, %v; want %q", form, back, err, p)
			}
			if strings.IndexFunc(form, func(r rune) bool { return r < ' ' || r > '~' }) >= 0 {
				t.Errorf("quote(%q) = %q is not printable ASCII", p, form)
			}
		}
		if raw, err := unquote(p); err == nil { // whatever is accepted survives
			if form := quote(raw); form != raw {
				if again, err := unquote(form); err != nil || again != raw {
					t.Errorf("%q became %q, %v", raw, again, err)
				}
			}
		}
		id := documentID(p)
		if id == "" && p != "" || len(id) > maxID || !utf8.ValidString(id) || strings.IndexByte(id, 0) >= 0 {
			t.Errorf("documentID(%q) = %q cannot be an id", p, id)
		}
		if p != q && id == documentID(q) {
			t.Errorf("%q and %q have the same id %q", p, q, id)
		}
	})
}
