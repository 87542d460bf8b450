package harness

import (
	"fmt"
	"io"
)

// setting is what a contestant was set to, in the comparisons from first to last.
type setting struct{ name, text, first, last string }

// Settings prints what each contestant of the results was set to, once.
func Settings(out io.Writer, results []Result) {
	var all []setting
	times := map[string]int{} // how often a contestant was set to something else
	for _, r := range results {
		for _, who := range r.Comparison.Contestants {
			if who.Settings == "" {
				continue
			}
			i := 0
			for i < len(all) && (all[i].name != who.Name || all[i].text != who.Settings) {
				i++
			}
			if i == len(all) {
				all = append(all, setting{name: who.Name, text: who.Settings, first: r.Comparison.Name})
				times[who.Name]++
			}
			all[i].last = r.Comparison.Name
		}
	}
	fmt.Fprintln(out, "\nSettings:")
	for _, s := range all {
		where := ""
		if times[s.name] > 1 {
			where = " in " + s.first
			if s.last != s.first {
				where += " to " + s.last
			}
		}
		fmt.Fprintf(out, "  %s%s: %s\n", s.name, where, s.text)
	}
}
