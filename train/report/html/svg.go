package html

import (
	"fmt"
	"html/template"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"opl/train/report/figure"
)

// inks are the colours of a page's figures, each with a class.
type inks struct{ all []color.NRGBA }

// class is that of a colour.
func (k *inks) class(c color.NRGBA) string {
	i := slices.Index(k.all, c)
	if i < 0 {
		i, k.all = len(k.all), append(k.all, c)
	}
	return fmt.Sprintf("k%d", i)
}

// The backgrounds of the style sheet.
var white, night = color.NRGBA{255, 255, 255, 255}, color.NRGBA{0x14, 0x17, 0x1b, 255}

// css sets the colours, mixed with black or white as far as they must be to stand out from the
// background: 3 : 1, as WCAG 2.2 wants of graphics.
func (k *inks) css() string {
	var light, dark strings.Builder
	for i, c := range k.all {
		if c == figure.Reference.Color {
			fmt.Fprintf(&light, ".k%d{--k:var(--fg)}", i)
			continue
		}
		fmt.Fprintf(&light, ".k%d{--k:%s}", i, against(white, c, color.NRGBA{0, 0, 0, 255}))
		fmt.Fprintf(&dark, ".k%d{--k:%s}", i, against(night, c, white))
	}
	return light.String() + "@media screen and (prefers-color-scheme:dark){" + dark.String() + "}"
}

// against mixes a colour towards another until it stands out from a background.
func against(back, c, towards color.NRGBA) string {
	mixed := c
	for part := 0.; contrast(back, mixed) < 3.2 && part <= 1; part += .05 {
		mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a)*(1-part) + float64(b)*part)) }
		mixed = color.NRGBA{mix(c.R, towards.R), mix(c.G, towards.G), mix(c.B, towards.B), 255}
	}
	return fmt.Sprintf("#%02x%02x%02x", mixed.R, mixed.G, mixed.B)
}

// contrast is (L₁ + .05)/(L₂ + .05) of the relative luminances of two colours, the lighter above (WCAG 2.2).
func contrast(a, b color.NRGBA) float64 {
	light := func(c color.NRGBA) float64 {
		part := func(v uint8) float64 {
			if x := float64(v) / 255; x > .04045 {
				return math.Pow((x+.055)/1.055, 2.4)
			}
			return float64(v) / 255 / 12.92
		}
		return .2126*part(c.R) + .7152*part(c.G) + .0722*part(c.B)
	}
	x, y := light(a), light(b)
	return (math.Max(x, y) + .05) / (math.Min(x, y) + .05)
}

// drawing is a figure as the layout has it.
type drawing struct {
	Caption, Class  string
	Narrow          bool // it fits beside another
	Panels, Legends template.HTML
	Numbers         Table
}

// Sizes of panels in CSS pixels: widths are the page's.
const (
	tall     = 220. // of axes
	lineTall = 15.  // of an interval of a line, below its name
	nameTall = 20.
	radius   = 4.2
	labelled = 44 // runes of the name of a line
)

// drawer writes a figure.
type drawer struct {
	strings.Builder
	ink   *inks
	names []string // of curves, in the order of their numbers
}

func (k *inks) draw(f Figure) drawing {
	d := drawer{ink: k}
	panels := slices.Concat(f.Panels...)
	out := drawing{Caption: f.Caption, Class: "many", Numbers: numbersOf(panels)}
	if n := len(panels); n <= 2 {
		out.Class, out.Narrow = [...]string{"none", "one", "two"}[n], n == 1 && len(panels[0].Lines) <= 12
	}
	for _, p := range panels {
		d.panel(f.Figure, p)
	}
	out.Panels = template.HTML(d.String())
	d.Reset()
	for _, l := range f.Legends {
		d.legend(l, panels)
	}
	out.Legends = template.HTML(d.String())
	return out
}

// esc escapes a text for elements and quoted attributes.
func esc(s string) string { return template.HTMLEscapeString(s) }

func (d *drawer) printf(format string, args ...any) { fmt.Fprintf(d, format, args...) }

// number writes a coordinate.
func number(x float64) string {
	return strconv.FormatFloat(math.Round(x*100)/100+0, 'f', -1, 64)
}

// value writes a value for readers.
func value(x float64) string {
	return strings.Replace(strconv.FormatFloat(x+0, 'g', 4, 64), "-", "−", 1)
}

// curve is the number of a curve's name.
func (d *drawer) curve(name string) int {
	i := slices.Index(d.names, name)
	if i < 0 {
		i, d.names = len(d.names), append(d.names, name)
	}
	return i
}

// panel draws a panel: x in parts of its width, y in pixels, so that text keeps its size however wide it is.
func (d *drawer) panel(of figure.Figure, p *figure.Panel) {
	f, row := framed(of, p)
	class, label := "w2 lines", p.Title+" figure of "+p.X
	if p.Lines == nil {
		left := 2
		for _, t := range f.y.Ticks {
			left = max(left, min(9, utf8.RuneCountInString(t.Label)+1))
		}
		class, label = fmt.Sprintf("w%d", left), strings.Join([]string{p.Title, "figure of", p.Y, "by", p.X}, " ")
	}
	d.printf("\n<div class=\"panel %s\">", class)
	if p.Title != "" {
		d.printf("<h3>%s</h3>", esc(short(p.Title, mostRunes)))
	}
	points := 0
	for _, c := range p.Curves {
		points += len(c.X)
	}
	d.printf("<svg class=\"plot\" height=\"%s\" role=\"img\" aria-label=\"%s, %d points\">",
		number(f.height), esc(short(strings.TrimSpace(label), mostRunes)), points)
	d.axes(f, row)
	for _, c := range p.Curves {
		d.draw(f, c)
	}
	for i, name := range p.Lines { // above the curves
		d.printf("<text class=\"name\" x=\"0\" y=\"%s\">%s</text>", number(row*float64(i)+14),
			esc(short(name, labelled)))
	}
	d.WriteString("</svg></div>")
}

// framed lays out a panel; row is the height of each of its Lines.
func framed(of figure.Figure, p *figure.Panel) (f frame, row float64) {
	f = frame{panel: p, height: tall}
	f.x, f.y = of.Axes(p, 6, 6)
	if p.Lines == nil {
		f.down = func(v float64) float64 { return f.height * (1 - f.y.At(v)) }
		return f, 0
	}
	across := 0
	for _, c := range p.Curves {
		if c.Kind == figure.Across {
			across++
		}
	}
	row = nameTall + lineTall*float64(max(1, across)) + 6
	f.height = row * float64(len(p.Lines))
	f.down = func(v float64) float64 {
		line := math.Round(-v)
		return row*line + nameTall + (row-nameTall-6)*(.5-(v+line)/.6)
	}
	return f, row
}

// axes draws the grid, the axes and what they are of.
func (d *drawer) axes(f frame, row float64) {
	p, bottom := f.panel, number(f.height)
	across := func(class string, y float64) {
		d.printf("<line class=\"%s\" x1=\"0\" x2=\"100%%\" y1=\"%s\" y2=\"%[2]s\"/>", class, number(y))
	}
	for _, t := range f.x.Ticks {
		d.printf("<line class=\"grid\" x1=\"%s\" x2=\"%[1]s\" y1=\"0\" y2=\"%s\"/>", f.at(t.Value), bottom)
		class := "mid"
		if at := f.x.At(t.Value); p.Lines != nil && at < .04 { // no room to the left: the panel would clip half of it
			class = "start"
		} else if p.Lines != nil && at > .96 {
			class = "end"
		}
		d.printf("<text class=\"%s\" x=\"%s\" y=\"%s\">%s</text>", class, f.at(t.Value), number(f.height+17),
			esc(t.Label))
	}
	for i, t := range f.y.Ticks {
		if p.Lines != nil {
			across("grid", row*float64(i))
			continue
		}
		across("grid", f.down(t.Value))
		d.printf("<text class=\"end\" x=\"-6\" y=\"%s\">%s</text>", number(f.down(t.Value)+4), esc(t.Label))
	}
	across("axis", f.height)
	if p.Lines == nil {
		d.printf("<line class=\"axis\" x1=\"0\" x2=\"0\" y1=\"0\" y2=\"%s\"/>", bottom)
	}
	d.printf("<text class=\"mid\" x=\"50%%\" y=\"%s\">%s</text>", number(f.height+36), esc(short(p.X, 60)))
	if p.Y != "" {
		d.printf("<text x=\"0\" y=\"-9\">%s</text>", esc(short(p.Y, 44)))
	}
}

// frame is where a panel's curves are drawn: x in parts of the width, y in pixels from the top.
type frame struct {
	panel  *figure.Panel
	x, y   figure.Axis
	height float64
	down   func(y float64) float64
}

// at is the place of an x.
func (f frame) at(x float64) string { return number(100*f.x.At(x)) + "%" }

// draw draws a curve: what is joined in an image of its own, stretched to the panel's width, marks beside it.
func (d *drawer) draw(f frame, c figure.Curve) {
	d.printf("<g class=\"curve %s\" data-c=\"%d\">", d.ink.class(c.Color), d.curve(c.Name))
	dashes := ""
	if len(c.Dashes) > 0 {
		dashes = fmt.Sprintf(" stroke-dasharray=\"%s\"", dashed(c.Style))
	}
	shapes := f.panel.Shapes(c, f.x, f.y)
	var line, band string
	for _, s := range shapes {
		if s.Kind > figure.Line {
			continue
		}
		var places []string
		for _, p := range s.Points {
			places = append(places, number(1000*f.x.At(p.X))+" "+number(f.down(p.Y)))
		}
		if path := "M" + strings.Join(places, "L"); s.Kind == figure.Band {
			band += path + "Z"
		} else {
			line += path
		}
	}
	if line != "" {
		d.printf("<svg viewBox=\"0 0 1000 %s\" preserveAspectRatio=\"none\" width=\"100%%\" height=\"%[1]s\" "+
			"overflow=\"visible\">",
			number(f.height))
		if band != "" {
			d.printf("<path class=\"band\" d=\"%s\"/>", band)
		}
		d.printf("<path d=\"%s\"%s/></svg>", line, dashes)
	}
	for _, s := range shapes {
		if s.Kind > figure.Line {
			d.shape(f, c, s, dashes)
		}
	}
	d.WriteString("</g>")
}

// shape draws a shape of one point.
func (d *drawer) shape(f frame, c figure.Curve, s figure.Shape, dashes string) {
	first, last := s.Points[0], s.Points[len(s.Points)-1]
	top, wide := f.down(last.Y), number(100*(f.x.At(last.X)-f.x.At(first.X)))+"%"
	switch s.Kind {
	case figure.Bar:
		d.printf("<rect class=\"bar\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"><title>%s</title></rect>",
			f.at(first.X), number(top), wide, number(f.height-top), esc(tell(f.panel, c, s.Index)))
	case figure.Stretch:
		d.printf("<rect class=\"span\" x=\"%s\" y=\"0\" width=\"%s\" height=\"%s\"/>", f.at(first.X), wide,
			number(f.height))
	case figure.Level:
		d.printf("<line x1=\"%s\" x2=\"%[1]s\" y1=\"0\" y2=\"%s\"%s/>", f.at(first.X), number(f.height), dashes)
	case figure.Range:
		d.printf("<line x1=\"%s\" x2=\"%s\" y1=\"%s\" y2=\"%[3]s\"%s/>", f.at(first.X), f.at(last.X), number(top),
			dashes)
	case figure.Whisker:
		d.printf("<line x1=\"%s\" x2=\"%[1]s\" y1=\"%s\" y2=\"%s\"/>", f.at(first.X), number(f.down(first.Y)),
			number(top))
	case figure.Mark:
		if c.Kind == figure.Span {
			top = f.height - 5
		}
		size, class := radius, "mark"
		if len(c.X) > 60 {
			size = 3
		}
		if c.Marker == figure.NoMarker {
			class += " quiet"
		} else if s.Open {
			class += " open"
		}
		d.printf("<svg class=\"%s\" x=\"%s\" y=\"%s\" width=\"1\" height=\"1\" "+
			"overflow=\"visible\"><title>%s</title><path d=\"%s\"/></svg>",
			class, f.at(first.X), number(top), esc(tell(f.panel, c, s.Index)), outline(c.Marker, size))
	}
}

// dashed are the lengths of a style's dashes.
func dashed(s figure.Style) string {
	var parts []string
	for _, l := range s.Dashes {
		parts = append(parts, number(1.3*float64(l)))
	}
	return strings.Join(parts, " ")
}

// outline is a marker around 0.
func outline(m figure.Marker, r float64) string {
	if m.Corners <= 0 {
		return fmt.Sprintf("M%s 0a%[2]s %[2]s 0 1 0 %[3]s 0a%[2]s %[2]s 0 1 0 -%[3]s 0Z", number(-r), number(r),
			number(2*r))
	}
	r *= 1.25 // they look smaller than a disc
	var corners []string
	for _, p := range m.Outline() {
		corners = append(corners, number(r*p.X)+" "+number(-r*p.Y))
	}
	return "M" + strings.Join(corners, "L") + "Z"
}

// legend lists entries, of which those of curves name them.
func (d *drawer) legend(l figure.Legend, panels []*figure.Panel) {
	if len(l.Entries) == 0 {
		d.printf("<p class=\"note\">%s</p>", esc(l.Title))
		return
	}
	d.WriteString("<ul class=\"legend\">")
	if l.Title != "" {
		d.printf("<li>%s</li>", esc(short(l.Title, mostRunes)))
	}
	for _, e := range l.Entries {
		var exact, alike []string
		add := func(to *[]string, name string) {
			if n := strconv.Itoa(d.curve(name)); !slices.Contains(*to, n) {
				*to = append(*to, n)
			}
		}
		for _, p := range panels {
			for _, c := range p.Curves {
				if c.Color != e.Color {
					continue
				}
				add(&alike, c.Name)
				if c.Marker == e.Marker && c.Open == e.Open && slices.Equal(c.Dashes, e.Dashes) {
					add(&exact, c.Name)
				}
			}
		}
		if exact == nil {
			exact = alike
		}
		of := ""
		if exact != nil {
			of = fmt.Sprintf(" data-c=\"%s\"", strings.Join(exact, " "))
		}
		d.printf("<li><span class=\"key curve %s\"%s><svg width=\"30\" height=\"12\" aria-hidden=\"true\"><line "+
			"x1=\"0\" x2=\"30\" y1=\"6\" y2=\"6\" stroke-dasharray=\"%s\"/>", d.ink.class(e.Color), of,
			dashed(e.Style))
		if e.Marker != figure.NoMarker {
			d.printf("<svg class=\"mark%s\" x=\"15\" y=\"6\" overflow=\"visible\"><path d=\"%s\"/></svg>",
				map[bool]string{true: " open"}[e.Open], outline(e.Marker, radius))
		}
		d.printf("</svg>%s</span></li>", esc(short(e.Label, mostRunes)))
	}
	d.WriteString("</ul>")
}

// tell is what is said of a point: to whom points at it, and in the table of numbers.
func tell(p *figure.Panel, c figure.Curve, i int) string {
	text := ""
	if i < len(c.Texts) {
		text = c.Texts[i]
	}
	ends := ""
	low, high := c.Ends(i)
	if low < high {
		ends = fmt.Sprintf(" [%s, %s]", value(low), value(high))
	}
	name := short(c.Name, mostRunes)
	switch c.Kind {
	case figure.Bars:
		if name != "" {
			name += "\n"
		}
		return fmt.Sprintf("%s%s to %s: %s", name, value(low), value(high), value(c.Y[i]))
	case figure.Across, figure.Span:
		if text == "" && c.Kind == figure.Across {
			if line := int(math.Round(-c.Y[i])); line >= 0 && line < len(p.Lines) {
				text = p.Lines[line]
			}
		}
		return strings.TrimPrefix(fmt.Sprintf("%s\n%s: %s%s", name, short(text, mostRunes), value(c.X[i]), ends),
			"\n: ")
	}
	if text != "" {
		ends += ", " + short(text, mostRunes)
	}
	return fmt.Sprintf("%s\n%s %s: %s%s", name, p.X, value(place(p, c, i)), value(c.Y[i]), ends)
}

// place is a point's x: the tick that it stands beside where there are such.
func place(p *figure.Panel, c figure.Curve, i int) float64 {
	if p.At == nil {
		return c.X[i]
	}
	return slices.MinFunc(p.At, func(a, b float64) int {
		if math.Abs(a-c.X[i]) <= math.Abs(b-c.X[i]) {
			return -1
		}
		return 1
	})
}

// numbersOf are the points of panels as a table.
func numbersOf(panels []*figure.Panel) Table {
	t := Table{Caption: "Points", Head: []string{"curve", "x", "y", "low", "high", "of"}}
	optional := func(x float64) string {
		if math.IsNaN(x) {
			return "—"
		}
		return value(x)
	}
	for _, p := range panels {
		for _, c := range p.Curves {
			for i := range c.X {
				if !p.Drawn(c, i) {
					continue
				}
				low, high := c.Ends(i)
				x, y, of := value(place(p, c, i)), value(c.Y[i]), p.Title
				if p.Lines != nil {
					y = "—"
					if line := int(math.Round(-c.Y[i])); c.Kind == figure.Across && line >= 0 &&
						line < len(p.Lines) {
						y = p.Lines[line]
					}
				}
				if i < len(c.Texts) {
					of = strings.Trim(of+", "+c.Texts[i], ", ")
				}
				t.Rows = append(t.Rows, []string{c.Name, x, y, optional(low), optional(high), of})
			}
		}
	}
	return t
}
