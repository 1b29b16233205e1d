package html

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"opl/train/report/figure"
	"opl/train/report/table"
)

// hostile texts, as names in logs can be.
var hostile = []string{`<script>alert(1)</script>`, `</script><img src=x onerror=alert(2)>`, `" onmouseover="alert(3)`, `'><svg onload=alert(4)>`, "]]>--><!--",
	"{{.JSON}}", "a\u202eb", "a\x00b\nc", string([]byte{0xff, 'x'}), strings.Repeat("long", 1000), "\u2028</style>"}

// hostilePage has such a text wherever there is one.
func hostilePage() Page {
	all := strings.Join(hostile, " ")
	p := Page{By: all, Question: all, Subject: all, Verdict: all, Tone: Doubt, Data: hostile,
		Made: Made{Command: all, Facts: []Fact{{all, all}}, Files: []File{{Name: all, Role: all, SHA256: all}}, Settings: []Fact{{all, all}}}}
	for _, h := range hostile {
		c := figure.Curve{Name: h, Style: figure.Category(0), X: []float64{1, 2, math.NaN(), 3}, Y: []float64{1, math.Inf(1), 2, 3}, Low: []float64{0, 0, 0, math.NaN()}, High: []float64{2, 2, 2, 4}, Texts: []string{h, h, h, h}}
		var curves []figure.Curve
		for kind := figure.Joined; kind <= figure.Span; kind++ {
			c.Kind = kind
			curves = append(curves, c)
		}
		f := figure.Figure{Name: h, Panels: [][]*figure.Panel{{{Title: h, X: h, Y: h, Curves: curves}, {Lines: []string{h, h, h, h}, Curves: curves[2:3]}}},
			Legends: []figure.Legend{{Title: h}, {Title: h, Entries: []figure.Entry{{Label: h, Style: c.Style}}}}}
		p.Sections = append(p.Sections, Section{Title: h, Text: []string{h}, Facts: []Fact{{h, h}}, Checks: []Check{{h, Bad, []string{h}}},
			Figures: []Figure{{h, f}}, Tables: []Table{{h, []string{h, h}, [][]string{{h, h}, {h}}}}, Code: h, Notes: []string{h}})
	}
	return p
}

func written(t *testing.T, p Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// part is what stands between two texts.
func part(t *testing.T, s, from, to string) string {
	t.Helper()
	_, after, found := strings.Cut(s, from)
	inside, _, ended := strings.Cut(after, to)
	if !found || !ended {
		t.Fatalf("no %s … %s", from, to)
	}
	return inside
}

// Hostile texts end no element and start none, the JSON is what went in, and the policy lets the page's own script and
// style run, and nothing else.
func TestPage_LetsHostileTextsStartNoElement(t *testing.T) {
	s := written(t, hostilePage())
	for _, bad := range []string{"<script>alert", "<img", "<svg onload", "<!--", "{{", " style=\"", "http:", "https:", "\x00"} {
		if strings.Contains(strings.ReplaceAll(s, "{{.JSON}}", ""), bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if n := strings.Count(s, "</script"); n != 2 {
		t.Errorf("%d ends of scripts, want 2", n)
	}
	if n := strings.Count(s, "</style"); n != 1 {
		t.Errorf("%d ends of styles, want 1", n)
	}
	var data struct {
		Verdict string
		Result  []string
		Made    Made
	}
	if err := json.Unmarshal([]byte(part(t, s, `id="data">`, "</script>")), &data); err != nil {
		t.Fatal(err)
	}
	want := slices.Clone(hostile)
	for i := range want {
		want[i] = strings.ToValidUTF8(want[i], "\uFFFD")
	}
	if !slices.Equal(data.Result, want) || data.Made.Files[0].Name != strings.Join(want, " ") {
		t.Errorf("JSON: %+v", data)
	}
	policy := strings.ReplaceAll(part(t, s, `Content-Security-Policy" content="`, `"`), "&#39;", "'")
	policy = strings.ReplaceAll(policy, "&#43;", "+")
	for _, rule := range []string{"default-src 'none'", "style-src '" + hash(part(t, s, "<style>", "</style>")) + "'", "script-src '" + hash(part(t, s, "<script>", "</script>")) + "'"} {
		if !slices.Contains(strings.Split(policy, "; "), rule) {
			t.Errorf("no %s in %s", rule, policy)
		}
	}
	// every quote in a tag is one of the page's: they come in pairs around what has none
	for _, tag := range regexp.MustCompile(`<[a-z][^<>]*>`).FindAllString(s[strings.Index(s, "<body"):strings.Index(s, `<script type`)], -1) {
		if rest := regexp.MustCompile(`[a-zA-Z0-9-]+="[^"]*"`).ReplaceAllString(tag, ""); strings.ContainsAny(rest, `"=`) {
			t.Fatalf("a tag that is broken: %.200s", tag)
		}
	}
	if s != written(t, hostilePage()) {
		t.Error("equal pages differ")
	}
	if body := part(t, s, "<main>", "</main>"); strings.Contains(body, "NaN") || strings.Contains(body, "Inf") {
		t.Error("a coordinate that is not finite")
	}
	written(t, Page{})
}

// Numbers of a column are to the right; texts that only begin like numbers are none, and long ones are cut.
func TestTable_AlignsNumbersToTheRight(t *testing.T) {
	long := strings.Repeat("é", 200)
	l := lay(Table{Head: []string{"name", "value", "time", "gap"}, Rows: [][]string{{"1", "−.5 ± 2", "2026-03-01", "—"}, {long, "1e-3", "2026-03-02", ""}}})
	var numbers []bool
	for _, h := range l.Head {
		numbers = append(numbers, h.Number)
	}
	if !slices.Equal(numbers, []bool{false, true, false, false}) || !l.Sorts {
		t.Errorf("numbers %v, %+v", numbers, l)
	}
	if c := l.Rows[1][0]; !c.Head || len([]rune(c.Text)) != mostRunes || c.Whole != long {
		t.Errorf("%+v", c)
	}
	rows := slices.Repeat([][]string{{"a", "1"}}, mostRows+3)
	if l := lay(Table{Head: []string{"a", "b"}, Rows: rows}); len(l.Rows) != mostRows || l.More != "And 3 rows more." || l.Sorts {
		t.Errorf("%d rows, %s", len(l.Rows), l.More)
	}
}

// Colours stand out from both backgrounds.
func TestColours_StandOutFromBothBackgrounds(t *testing.T) {
	var ink inks
	for i := range 6 {
		ink.class(figure.Category(i).Color)
		ink.class(figure.Ordered(i, 6).Color)
	}
	light, dark, _ := strings.Cut(ink.css(), "@media")
	for css, back := range map[string]struct{ r, g, b uint8 }{light: {255, 255, 255}, dark: {night.R, night.G, night.B}} {
		t.Run(css, func(t *testing.T) {
			found := regexp.MustCompile(`#([0-9a-f]{6})`).FindAllStringSubmatch(css, -1)
			if len(found) != 12 {
				t.Errorf("%d colours: %s", len(found), css)
			}
			for _, m := range found {
				c, b := white, white
				b.R, b.G, b.B = back.r, back.g, back.b
				fmt.Sscanf(m[1], "%02x%02x%02x", &c.R, &c.G, &c.B)
				if contrast(b, c) < 3 {
					t.Errorf("%s has a contrast of %.2f", m[0], contrast(b, c))
				}
			}
		})
	}
}

// What was recorded comes in its order, and facts are told from the rest.
func TestRecorded_KeepsTheOrder(t *testing.T) {
	var r table.Recorder
	fmt.Fprint(&r, "**mnist**\n\n")
	if err := table.Write(&r, table.Markdown, []string{"a|b"}, [][]string{{"c\nd|"}}); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(&r, "\none: ")
	fmt.Fprint(&r, "line\n\nanother\n")
	s := Recorded("x", &r)
	if fmt.Sprint(s.Tables) != "[{mnist [a|b] [[c\nd|]]}]" || fmt.Sprintf("%q", s.Notes) != `["one: line" "another"]` {
		t.Errorf("%+v", s)
	}
}

// The first of each word of the glossary in a text leads to what it means there, and the rest stays text.
func TestPage_LinksItsWords(t *testing.T) {
	p := Page{Question: "q", Verdict: "v", Sections: []Section{{Title: "s", Text: []string{"The floor <b> is no floor of ESS & k."},
		Facts: []Fact{{"ESS", "3"}}, Notes: []string{"no flooring"}}}}
	var b strings.Builder
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	link := regexp.MustCompile(`<p>The <a class="word" href="#(w\d+)">floor</a> &lt;b&gt; is no floor of <a class="word" href="#(w\d+)">ESS</a> &amp; `)
	m := link.FindStringSubmatch(page)
	if m == nil || !strings.Contains(page, "no flooring</p>") || !strings.Contains(page, `<dt><a class="word" href="#`+m[2]) {
		t.Fatal(page)
	}
	for id, name := range map[string]string{m[1]: "floor", m[2]: "ESS"} {
		t.Run(id, func(t *testing.T) {
			if strings.Count(page, `<dt id="`+id+`">`+name) != 1 {
				t.Errorf("no meaning of %s at %s", name, id)
			}
		})
	}
}

// A page carries the meanings of the words that it uses, and only of these.
func TestPage_ExplainsItsWords(t *testing.T) {
	p := Page{Question: "q", Verdict: "v", Sections: []Section{{Title: "s",
		Tables: []Table{{Head: []string{"policy", "ESS"}, Rows: [][]string{{"drift", "3"}}}}}}}
	var b strings.Builder
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`>policy, π(a|x)</dt><dd>probabilities of actions in a context</dd>`,
		`title="effective sample size, (Σw)²/Σw²: how many equally weighted rows say as much">ESS</th>`, `href="#words"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s", want)
		}
	}
	for _, no := range []string{">drift</dt>", ">wealth</dt>", "| word |"} {
		if strings.Contains(b.String(), no) {
			t.Errorf("%s is explained", no)
		}
	}
}
