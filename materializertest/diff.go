package materializertest

import (
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// outcome is what the operations up to one have made of a document.
type outcome struct {
	view    []byte
	deleted bool
}

func (o outcome) equal(other outcome) bool {
	return o.deleted == other.deleted && string(o.view) == string(other.view)
}

// differ shows two outcomes, a line each, from shortly before where they differ.
func differ(want, got outcome) string {
	const before, most = 40, 160
	same := 0
	for same < len(want.view) && same < len(got.view) && want.view[same] == got.view[same] {
		same++
	}
	from := same
	if from = max(0, same-before); from > 0 {
		for from < same && !utf8.RuneStart(want.view[from]) {
			from++
		}
	}
	show := func(o outcome) string {
		if o.deleted {
			return "deleted"
		}
		part := o.view[min(from, len(o.view)):]
		part = part[:min(len(part), most)]
		s := string(part)
		if !utf8.Valid(part) || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' }) {
			s = fmt.Sprintf("%q", part)
		}
		if from > 0 {
			s = "…" + s
		}
		if len(o.view) > from+most {
			s += "…"
		}
		return s
	}
	return fmt.Sprintf("\twant %s\n\t got %s", show(want), show(got))
}

// lost shows what of a value did not come back from its codec, or is empty. An
// empty slice or map is as good as a nil one.
func lost(was, is any) (difference string) {
	defer func() {
		if v := recover(); v != nil { // an Equal method, say
			difference = fmt.Sprintf("\tcomparing them panics: %v", v)
		}
	}()
	const most = 12
	lines := strings.Split(strings.TrimSpace(cmp.Diff(was, is, comparing)), "\n")
	if len(lines) > most {
		lines = append(lines[:most], "…")
	}
	if len(lines) == 1 && lines[0] == "" {
		return ""
	}
	return "\t" + strings.Join(lines, "\n\t")
}

var comparing = cmp.Options{
	cmp.Exporter(func(reflect.Type) bool { return true }),
	cmpopts.EquateEmpty(),
	cmpopts.EquateNaNs(),
}
