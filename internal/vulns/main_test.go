package main

import (
	"strings"
	"testing"
)

const (
	config    = `{"config": {"scanner_name": "govulncheck"}} {"progress": {"message": "Scanning"}}`
	ofGo      = `{"finding": {"osv": "GO-1", "fixed_version": "v1.26.9", "trace": [{"module": "stdlib", "version": "v1.26.8", "package": "html/template", "function": "Execute"}, {"module": "example.org/m", "package": "example.org/m", "function": "f"}]}}`
	ofGoOpen  = `{"finding": {"osv": "GO-2", "trace": [{"module": "stdlib", "version": "v1.26.8", "package": "net", "function": "Dial"}]}}`
	ofModule  = `{"finding": {"osv": "GO-3", "fixed_version": "v1.2.4", "trace": [{"module": "example.org/x", "version": "v1.2.3", "package": "example.org/x/y", "function": "Z"}]}}`
	unreached = `{"finding": {"osv": "GO-4", "fixed_version": "v1.2.4", "trace": [{"module": "example.org/x", "version": "v1.2.3", "package": "example.org/x/y"}]}}`
)

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name, in, out, err string
	}{
		{"nothing", config, "vulns: clean, with 0 exceptions\n", ""},
		{"a newer Go", config + ofGo + ofGo + unreached,
			"exception: a newer Go mends GO-1 in html/template of stdlib@v1.26.8, mended in v1.26.9\nvulns: clean, with 1 exceptions\n", ""},
		{"no Go yet", config + ofGoOpen, "found GO-2 in net of stdlib@v1.26.8, mended in nowhere yet\n", "1 vulnerabilities are reached"},
		{"a module", config + ofModule + ofGo,
			"exception: a newer Go mends GO-1 in html/template of stdlib@v1.26.8, mended in v1.26.9\n" +
				"found GO-3 in example.org/x/y of example.org/x@v1.2.3, mended in v1.2.4\n", "1 vulnerabilities are reached"},
		{"no output", "", "", "there is no output of govulncheck"},
		{"cut off", config + `{"finding"`, "", "reading the output of govulncheck: unexpected EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			err := judge(strings.NewReader(c.in), &out)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if out.String() != c.out || text != c.err {
				t.Errorf("printed %q with error %q, want %q and %q", out.String(), text, c.out, c.err)
			}
		})
	}
}
