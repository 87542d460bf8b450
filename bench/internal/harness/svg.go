package harness

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"
)

const (
	chartWidth  = 720
	nameWidth   = 210
	valueWidth  = 110
	barHeight   = 18
	lineHeight  = 17
	lineLetters = 110
)

// colours are told apart by people who see no red or green.
var colours = map[Kind]string{Ours: "#0072b2", Variant: "#56b4e9", Peer: "#999999", Limit: "#e69f00"}

// SVG draws the first figure of each result as bars, on a scale of its own.
func SVG(out io.Writer, results []Result) error {
	var b strings.Builder
	y := 20
	for _, r := range results {
		if r.Comparison.ours() >= 0 {
			y = panel(&b, y, r)
		}
	}
	_, err := fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">
<rect width="100%%" height="100%%" fill="white"/>
%s</svg>
`, chartWidth, y, b.String())
	return err
}

// panel draws one result and returns where the next one starts.
func panel(b *strings.Builder, y int, r Result) int {
	figure := r.Comparison.Figures[0]
	title := r.Comparison.Name + ", " + figure
	if strings.HasPrefix(figure, "ns/") {
		title += ", less is better"
	}
	text(b, 12, y, `font-weight="bold" font-size="14"`, title)
	for _, line := range wrap(r.Comparison.About) {
		y += lineHeight
		text(b, 12, y, `fill="#555555"`, line)
	}
	y += 9
	most := 0.0
	for _, e := range r.Entries {
		if v := e.Median(figure); v > most {
			most = v
		}
	}
	for i, who := range r.Comparison.Contestants {
		v := r.Entries[i].Median(figure)
		if math.IsNaN(v) {
			continue
		}
		text(b, nameWidth-8, y+13, `text-anchor="end"`, who.Name)
		length := max(v/most*(chartWidth-nameWidth-valueWidth), 1)
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", nameWidth, y, length, barHeight-3, colours[who.Kind])
		text(b, nameWidth+int(length)+6, y+13, "", short(v))
		y += barHeight
	}
	return y + 26
}

// wrap cuts a text into lines.
func wrap(s string) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(s) {
		if line != "" && len(line)+1+len(word) > lineLetters {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}

func text(b *strings.Builder, x, y int, attributes, s string) {
	fmt.Fprintf(b, `<text x="%d" y="%d" %s>`, x, y, attributes)
	xml.EscapeText(b, []byte(s)) // a strings.Builder returns no errors
	b.WriteString("</text>\n")
}
