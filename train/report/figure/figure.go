// Package figure draws: panels of curves, marks, bars and intervals with a legend below, as PNG,
// SVG or PDF. The pages of opl/train/report/html draw the same figures for browsers. Use it to draw
// a result as a file.
package figure

import (
	"cmp"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Figure holds rows of panels, and legends below them.
type Figure struct {
	Name    string // of its file
	Panels  [][]*Panel
	Legends []Legend
	Width   vg.Length // 0: that of a page's text
	Height  vg.Length // of one row of panels; 0: as usual
	OwnY    bool      // every panel has a y axis of its own range
}

// Panel is one pair of axes.
type Panel struct {
	Title, X, Y string
	Curves      []Curve
	At          []float64 // the ticks of the x axis; nil: as usual
	Whole       bool      // x counts
	LogX, LogY  bool      // logarithmic axes, of positive values
	Lines       []string  // names of y = 0, −1, −2, … in place of numbers
}

// Kind says what the points of a curve are.
type Kind int

// The kinds of curves. Low and High are the ends of a band, an interval or a stretch:
const (
	Joined Kind = iota // a band around Y; points are joined
	Barred             // an interval around Y, at each point; points are joined
	Across             // an interval around X, at each point
	Bars               // a bar from 0 to Y, along x
	Span               // a stretch of x, over the whole height, with a line at X
)

// Curve holds points in the order of x. A missing point is NaN.
type Curve struct {
	Name string // in the legend
	Style
	X, Y      []float64
	Low, High []float64 // see Kind; nil or NaN: none
	Kind      Kind
	Hollow    []bool   // points with open markers; nil: as Style has it
	Texts     []string // said of points, beside their numbers; nil: nothing
	small     bool     // in a small panel
}

// Add appends a point with the ends of its interval, NaN where it has none, and what is said of it.
func (c *Curve) Add(x, y, low, high float64, text string) {
	c.X, c.Y = append(c.X, x), append(c.Y, y)
	c.Low, c.High, c.Texts = append(c.Low, low), append(c.High, high), append(c.Texts, text)
}

// Legend is a line of entries, broken where it is longer than the figure is wide.
type Legend struct {
	Title   string
	Entries []Entry
}

// Entry is a style with what it stands for.
type Entry struct {
	Label string
	Style
}

// Sizes on paper: a figure is as wide as a page's text.
const (
	textWidth    = 7.2 * vg.Inch
	rowHeight    = 1.85 * vg.Inch
	titleRoom    = vg.Length(11)
	titleSize    = vg.Length(8.5)
	labelSize    = vg.Length(8.5)
	tickSize     = vg.Length(7.5)
	legendSize   = vg.Length(8)
	legendLine   = vg.Length(12)
	lineWidth    = vg.Length(1.2)
	markerRadius = vg.Length(2.1)
	sampleWidth  = vg.Length(22)
)

func sans(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

func textStyle(size vg.Length) text.Style {
	return text.Style{Color: color.Black, Font: sans(size), Handler: handler(), YAlign: draw.YCenter}
}

func (d Figure) size() (w, h vg.Length) {
	w = cmp.Or(d.Width, textWidth)
	h = cmp.Or(d.Height, rowHeight)*vg.Length(len(d.Panels)) + 4
	for _, l := range d.Legends {
		h += legendLine * vg.Length(len(l.lines(w)))
	}
	return w, h + 4
}

// Encode draws the figure as png, svg or pdf; dpi is of PNG.
func (d Figure) Encode(format string, dpi int) ([]byte, error) {
	w, h := d.size()
	return render(format, w, h, dpi, d.paint)
}

func (d Figure) paint(c draw.Canvas) {
	bottom := c.Min.Y + 4
	for _, l := range slices.Backward(d.Legends) {
		for _, line := range slices.Backward(l.lines(c.Max.X - c.Min.X)) {
			line.paint(c, bottom+legendLine/2)
			bottom += legendLine
		}
	}
	cols := 0
	for _, row := range d.Panels {
		cols = max(cols, len(row))
	}
	plots := make([][]*plot.Plot, len(d.Panels))
	for i, row := range d.Panels {
		plots[i] = make([]*plot.Plot, cols)
		for j, p := range row {
			plots[i][j] = d.plot(p, cols, d.OwnY || j == 0)
		}
	}
	area := draw.Crop(c, 2, -6, bottom-c.Min.Y, -4)
	tiles := draw.Tiles{Rows: len(d.Panels), Cols: cols, PadX: 5, PadY: 7, PadTop: titleRoom}
	if len(d.Panels) > 1 && d.Panels[1][0].Title != "" {
		tiles.PadY += titleRoom
	}
	title := textStyle(titleSize)
	title.XAlign, title.YAlign = draw.XCenter, draw.YBottom
	at := plot.Align(plots, tiles, area)
	for i, row := range d.Panels {
		for j, p := range row {
			plots[i][j].Draw(at[i][j])
			axes := plots[i][j].DataCanvas(at[i][j])
			c.FillText(title, vg.Point{X: axes.Center().X, Y: axes.Max.Y + 5}, p.Title)
		}
	}
}

// Axis is the range of an axis, with a margin, and its ticks.
type Axis struct {
	Min, Max float64
	Log      bool
	Ticks    []plot.Tick
}

// At is where a value is, of a range from 0 to 1.
func (a Axis) At(v float64) float64 {
	if a.Log {
		return math.Log(v/a.Min) / math.Log(a.Max/a.Min)
	}
	return (v - a.Min) / (a.Max - a.Min)
}

// Axes returns the axes of one panel of the figure, with at most mostX and mostY ticks. Panels share the range
// of y unless OwnY.
func (d Figure) Axes(p *Panel, mostX, mostY int) (x, y Axis) {
	x, y = newAxis(p.LogX), newAxis(p.LogY)
	for _, c := range p.Curves {
		for i := range c.X {
			low, high := c.ends(i)
			x.hold(c.X[i])
			if c.Kind >= Across {
				x.hold(low, high)
			}
		}
	}
	all := []*Panel{p}
	if !d.OwnY {
		all = slices.Concat(d.Panels...)
	}
	bars := false
	for _, p := range all {
		for _, c := range p.Curves {
			bars = bars || c.Kind == Bars
			for i := range c.Y {
				if low, high := c.ends(i); c.Kind <= Barred && finite(low) {
					y.hold(low, high)
				} else if c.Kind != Span {
					y.hold(c.Y[i])
				}
			}
		}
	}
	x.widen()
	x.Ticks = x.marks(mostX, p.Whole)
	if p.At != nil {
		x.Ticks = nil
		for _, v := range p.At {
			x.Ticks = append(x.Ticks, plot.Tick{Value: v, Label: Label(v)})
		}
	}
	if p.Lines != nil {
		y = Axis{Min: .4 - float64(len(p.Lines)), Max: .6}
		for i, name := range p.Lines {
			y.Ticks = append(y.Ticks, plot.Tick{Value: -float64(i), Label: name})
		}
		return x, y
	}
	if bars {
		y.hold(0)
	}
	y.widen()
	if bars {
		y.Min = 0
	}
	y.Ticks = y.marks(mostY, false)
	return x, y
}

func newAxis(log bool) Axis { return Axis{Min: math.Inf(1), Max: math.Inf(-1), Log: log} }

// hold widens a range to hold values, if they can be drawn.
func (a *Axis) hold(values ...float64) {
	for _, v := range values {
		if finite(v) && (v > 0 || !a.Log) {
			a.Min, a.Max = math.Min(a.Min, v), math.Max(a.Max, v)
		}
	}
}

// widen widens a range by a part, an empty one to something.
func (a *Axis) widen() {
	switch empty := !(a.Min <= a.Max); {
	case empty && a.Log:
		a.Min, a.Max = 1, 10
	case empty:
		a.Min, a.Max = 0, 1
	case a.Log:
		pad := max(1.05, math.Pow(a.Max/a.Min, .04))
		a.Min, a.Max = a.Min/pad, a.Max*pad
	default:
		pad := .04 * (a.Max - a.Min)
		if pad < 1e-12*math.Max(1, math.Abs(a.Max)) {
			pad = math.Max(.05, .05*math.Abs(a.Max))
		}
		a.Min, a.Max = a.Min-pad, a.Max+pad
	}
}

// marks are at most so many ticks of an axis: at 1, 2 and 5 times powers of ten where it is logarithmic.
func (a Axis) marks(most int, whole bool) (out []plot.Tick) {
	if !a.Log {
		return ticks(a.Min, a.Max, most, whole)
	}
	for _, of := range [][]float64{{1, 2, 5}, {1, 3}, {1}} {
		out = nil
		for e := math.Floor(math.Log10(a.Min)); e <= math.Log10(a.Max); e++ {
			for _, m := range of {
				if v := m * math.Pow(10, e); v >= a.Min && v <= a.Max {
					out = append(out, plot.Tick{Value: v, Label: Label(v)})
				}
			}
		}
		if len(out) <= most {
			break
		}
	}
	return out
}

// plot makes gonum's plot of a panel, with the ticks' numbers at the y axis only if
// labelled.
func (d Figure) plot(p *Panel, cols int, labelled bool) *plot.Plot {
	g := plot.New()
	labels := 6
	if cols > 3 {
		labels = 3
	}
	x, y := d.Axes(p, labels, 7)
	for _, a := range []struct {
		of *plot.Axis
		as Axis
	}{{&g.X, x}, {&g.Y, y}} {
		a.of.Label.TextStyle.Handler = handler()
		a.of.Label.TextStyle.Font, a.of.Tick.Label.Font = sans(labelSize), sans(tickSize)
		a.of.Padding, a.of.Tick.Length, a.of.Label.Padding = 0, 2.5, 1
		a.of.Width, a.of.Tick.Width = .6, .6
		a.of.Min, a.of.Max = a.as.Min, a.as.Max
		if a.as.Log {
			a.of.Scale = plot.LogScale{}
		}
		a.of.Tick.Marker = plot.ConstantTicks(a.as.Ticks)
	}
	g.X.Label.Text = p.X
	if p.Lines != nil {
		g.Y.Tick.Length = 0
	}
	if labelled {
		g.Y.Label.Text = p.Y
	} else {
		bare := slices.Clone(y.Ticks)
		for i := range bare {
			bare[i].Label = ""
		}
		g.Y.Tick.Marker = plot.ConstantTicks(bare)
	}
	g.Add(frame{lines: p.Lines != nil})
	for _, c := range p.Curves {
		c.small = cols > 3
		g.Add(painter{c, p, x, y})
	}
	return g
}

// ticks are at multiples of 1, 2 or 5 times a power of ten, at most so many in the
// range, and of whole numbers alone if whole.
func ticks(lo, hi float64, most int, whole bool) (out []plot.Tick) {
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/float64(most))))
	if whole {
		step = math.Max(1, step)
	}
	for i := 0; math.Floor(hi/step)-math.Ceil(lo/step)+1 > float64(most); i++ {
		step *= []float64{2, 2.5, 2}[i%3] // 1, 2, 5, 10
	}
	for k := math.Ceil(lo / step); k*step <= hi; k++ {
		out = append(out, plot.Tick{Value: k * step, Label: Label(k * step)})
	}
	return out
}

// Label writes a number with a minus sign, and none before zero.
func Label(x float64) string {
	return strings.Replace(strconv.FormatFloat(x+0, 'g', 6, 64), "-", "−", 1)
}

// frame is a pale grid behind the curves.
type frame struct{ lines bool }

func (f frame) Plot(c draw.Canvas, p *plot.Plot) {
	line := draw.LineStyle{Color: color.Gray{225}, Width: .4}
	tx, ty := p.Transforms(&c)
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		c.StrokeLine2(line, tx(t.Value), c.Min.Y, tx(t.Value), c.Max.Y)
	}
	if f.lines {
		return
	}
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		c.StrokeLine2(line, c.Min.X, ty(t.Value), c.Max.X, ty(t.Value))
	}
}

// painter is a curve in a panel.
type painter struct {
	Curve
	panel *Panel
	x, y  Axis
}

// Plot implements plot.Plotter: the band below the line below the markers.
func (c painter) Plot(da draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&da)
	at := func(p Point) vg.Point { return vg.Point{X: tx(p.X), Y: ty(p.Y)} }
	size := vg.Length(1)
	if c.small {
		size = .75
	}
	thin := draw.LineStyle{Color: c.Color, Width: .8}
	fill := func(paint color.Color, points ...vg.Point) {
		da.SetColor(paint)
		da.Fill(polygon(points))
	}
	pale := func(alpha uint8) color.Color { return color.NRGBA{c.Color.R, c.Color.G, c.Color.B, alpha} }
	for _, s := range c.panel.Shapes(c.Curve, c.x, c.y) {
		var points []vg.Point
		for _, p := range s.Points {
			points = append(points, at(p))
		}
		first, last := points[0], points[len(points)-1]
		switch s.Kind {
		case Band:
			fill(pale(46), points...)
		case Bar:
			fill(pale(200), first, vg.Point{X: last.X, Y: first.Y}, last, vg.Point{X: first.X, Y: last.Y})
		case Stretch:
			fill(color.Gray{228}, vg.Point{X: first.X, Y: da.Min.Y}, vg.Point{X: last.X, Y: da.Min.Y},
				vg.Point{X: last.X, Y: da.Max.Y}, vg.Point{X: first.X, Y: da.Max.Y})
		case Level:
			da.StrokeLine2(c.line(size), first.X, da.Min.Y, first.X, da.Max.Y)
		case Whisker:
			da.StrokeLines(thin, points)
		case Line, Range:
			da.StrokeLines(c.line(size), points)
		case Mark:
			if c.Kind != Span {
				style := c.Style
				style.Open = s.Open
				style.paintMarker(da, first, size)
			}
		}
	}
}

// line is the style of the curve's line, in parts of its usual width.
func (s Style) line(size vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: s.Color, Width: cmp.Or(s.Width, lineWidth) * size, Dashes: s.Dashes}
}

// paintMarker draws the marker with a white rim, which keeps markers apart that lie
// on one another.
func (s Style) paintMarker(c draw.Canvas, at vg.Point, size vg.Length) {
	if s.Marker.Corners < 0 {
		return
	}
	path := s.Marker.path(at, markerRadius*size)
	var fill, rim color.Color = s.Color, color.White
	width := vg.Length(.35)
	if s.Open {
		fill, rim, width = rim, fill, .8
	}
	c.SetColor(fill)
	c.Fill(path)
	c.SetLineStyle(draw.LineStyle{Color: rim, Width: width})
	c.Stroke(path)
}

const legendGap = vg.Length(12)

func (l Legend) widthOf(e Entry) vg.Length {
	return sampleWidth + 4 + textStyle(legendSize).Width(e.Label) + legendGap
}

func (l Legend) titleWidth() vg.Length {
	if l.Title == "" {
		return 0
	}
	return textStyle(legendSize).Width(l.Title) + legendGap
}

// lines breaks the legend into as few lines as fit into a width, of about the same
// length.
func (l Legend) lines(width vg.Length) []Legend {
	out := l.fill(width)
	for w := width - 10; w > 0; w -= 10 {
		narrow := l.fill(w)
		if len(narrow) != len(out) {
			break
		}
		out = narrow
	}
	return out
}

func (l Legend) fill(width vg.Length) []Legend {
	out := []Legend{{Title: l.Title}}
	used := l.titleWidth()
	for _, e := range l.Entries {
		last := &out[len(out)-1]
		if used+l.widthOf(e) > width && len(last.Entries) > 0 {
			out = append(out, Legend{})
			last, used = &out[len(out)-1], 0
		}
		last.Entries = append(last.Entries, e)
		used += l.widthOf(e)
	}
	return out
}

// paint draws a line of the legend, centred around y.
func (l Legend) paint(c draw.Canvas, y vg.Length) {
	width := l.titleWidth() - legendGap
	for _, e := range l.Entries {
		width += l.widthOf(e)
	}
	sty := textStyle(legendSize)
	x := max(c.Min.X+2, c.Center().X-width/2)
	if l.Title != "" {
		c.FillText(sty, vg.Point{X: x, Y: y}, l.Title)
		x += l.titleWidth()
	}
	for _, e := range l.Entries {
		c.StrokeLine2(e.line(1), x, y, x+sampleWidth, y)
		e.paintMarker(c, vg.Point{X: x + sampleWidth/2, Y: y}, 1)
		c.FillText(sty, vg.Point{X: x + sampleWidth + 4, Y: y}, e.Label)
		x += l.widthOf(e)
	}
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
