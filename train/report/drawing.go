package report

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

// drawing is a figure ready to be painted: rows of panels, and legends below them.
type drawing struct {
	name    string
	panels  [][]*panel
	legends []legend
	width   vg.Length // 0: textWidth
	height  vg.Length // of one row of panels; 0: rowHeight
	ownY    bool      // every panel has a y axis of its own range
}

// panel is one pair of axes.
type panel struct {
	title, x, y string
	curves      []curve
	only        *float64 // the one tick of the x axis; nil: ticks as usual
	whole       bool     // x counts
}

// curve is points joined in order of η₀, with a band of ± one standard deviation
// where there is one.
type curve struct {
	style
	x, y, sd []float64 // sd: NaN where there is none
	small    bool      // in a small panel
}

// legend is a line of entries, broken where it is longer than the figure is wide.
type legend struct {
	title   string
	entries []entry
}

type entry struct {
	label string
	style
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

func (d drawing) size() (w, h vg.Length) {
	w = cmp.Or(d.width, textWidth)
	h = cmp.Or(d.height, rowHeight)*vg.Length(len(d.panels)) + 4
	for _, l := range d.legends {
		h += legendLine * vg.Length(len(l.lines(w)))
	}
	return w, h + 4
}

func (d drawing) encode(format string, dpi int) ([]byte, error) {
	w, h := d.size()
	return render(format, w, h, dpi, d.paint)
}

func (d drawing) paint(c draw.Canvas) {
	bottom := c.Min.Y + 4
	for _, l := range slices.Backward(d.legends) {
		for _, line := range slices.Backward(l.lines(c.Max.X - c.Min.X)) {
			line.paint(c, bottom+legendLine/2)
			bottom += legendLine
		}
	}
	cols := 0
	for _, row := range d.panels {
		cols = max(cols, len(row))
	}
	lo, hi := rangeY(slices.Concat(d.panels...)...)
	plots := make([][]*plot.Plot, len(d.panels))
	for i, row := range d.panels {
		plots[i] = make([]*plot.Plot, cols)
		for j, p := range row {
			if d.ownY {
				lo, hi = rangeY(p)
			}
			plots[i][j] = p.plot(lo, hi, cols, d.ownY || j == 0)
		}
	}
	area := draw.Crop(c, 2, -6, bottom-c.Min.Y, -4)
	tiles := draw.Tiles{Rows: len(d.panels), Cols: cols, PadX: 5, PadY: 7, PadTop: titleRoom}
	if len(d.panels) > 1 && d.panels[1][0].title != "" {
		tiles.PadY += titleRoom
	}
	title := textStyle(titleSize)
	title.XAlign, title.YAlign = draw.XCenter, draw.YBottom
	at := plot.Align(plots, tiles, area)
	for i, row := range d.panels {
		for j, p := range row {
			plots[i][j].Draw(at[i][j])
			axes := plots[i][j].DataCanvas(at[i][j])
			c.FillText(title, vg.Point{X: axes.Center().X, Y: axes.Max.Y + 5}, p.title)
		}
	}
}

// rangeY is the range of y of panels, with a margin.
func rangeY(panels ...*panel) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, p := range panels {
		for _, c := range p.curves {
			for i := range c.y {
				if a, b := c.band(i); finite(a) {
					lo, hi = math.Min(lo, a), math.Max(hi, b)
				}
			}
		}
	}
	return margin(lo, hi)
}

// margin widens a range by a part, an empty one to something.
func margin(lo, hi float64) (float64, float64) {
	if !(lo <= hi) {
		return 0, 1
	}
	pad := .04 * (hi - lo)
	if pad < 1e-12*math.Max(1, math.Abs(hi)) {
		pad = math.Max(.05, .05*math.Abs(hi))
	}
	return lo - pad, hi + pad
}

// plot makes gonum's plot of a panel, with the ticks' numbers at the y axis only if
// labelled.
func (p *panel) plot(lo, hi float64, cols int, labelled bool) *plot.Plot {
	g := plot.New()
	x0, x1 := math.Inf(1), math.Inf(-1)
	for _, c := range p.curves {
		for _, x := range c.x {
			x0, x1 = math.Min(x0, x), math.Max(x1, x)
		}
	}
	g.X.Min, g.X.Max = margin(x0, x1)
	g.Y.Min, g.Y.Max = lo, hi
	labels := 6
	if cols > 3 {
		labels = 3
	}
	for _, a := range []*plot.Axis{&g.X, &g.Y} {
		a.Label.TextStyle.Handler = handler()
		a.Label.TextStyle.Font, a.Tick.Label.Font = sans(labelSize), sans(tickSize)
		a.Padding, a.Tick.Length, a.Label.Padding = 0, 2.5, 1
		a.Width, a.Tick.Width = .6, .6
	}
	g.X.Label.Text, g.X.Tick.Marker = p.x, ticks{most: labels, labels: true, whole: p.whole}
	if p.only != nil {
		g.X.Tick.Marker = plot.ConstantTicks{{Value: *p.only, Label: tickLabel(*p.only)}}
	}
	g.Y.Tick.Marker = ticks{most: 7, labels: labelled}
	if labelled {
		g.Y.Label.Text = p.y
	}
	g.Add(frame{})
	for _, c := range p.curves {
		c.small = cols > 3
		g.Add(c)
	}
	return g
}

// ticks are at multiples of 1, 2 or 5 times a power of ten, at most so many in the
// range.
type ticks struct {
	most   int
	labels bool
	whole  bool // whole numbers alone
}

func (t ticks) Ticks(lo, hi float64) []plot.Tick {
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/float64(t.most))))
	if t.whole {
		step = math.Max(1, step)
	}
	for i := 0; math.Floor(hi/step)-math.Ceil(lo/step)+1 > float64(t.most); i++ {
		step *= []float64{2, 2.5, 2}[i%3] // 1, 2, 5, 10
	}
	var out []plot.Tick
	for k := math.Ceil(lo / step); k*step <= hi; k++ {
		tick := plot.Tick{Value: k * step}
		if t.labels {
			tick.Label = tickLabel(k * step)
		}
		out = append(out, tick)
	}
	return out
}

// tickLabel writes a number with a minus sign, and none before zero.
func tickLabel(x float64) string {
	return strings.Replace(strconv.FormatFloat(x+0, 'g', 6, 64), "-", "−", 1)
}

// frame is a pale grid behind the curves.
type frame struct{}

func (frame) Plot(c draw.Canvas, p *plot.Plot) {
	line := draw.LineStyle{Color: color.Gray{225}, Width: .4}
	tx, ty := p.Transforms(&c)
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		c.StrokeLine2(line, tx(t.Value), c.Min.Y, tx(t.Value), c.Max.Y)
	}
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		c.StrokeLine2(line, c.Min.X, ty(t.Value), c.Max.X, ty(t.Value))
	}
}

// band is y ∓ sd at a point.
func (c curve) band(i int) (lo, hi float64) {
	sd := 0.0
	if i < len(c.sd) && !math.IsNaN(c.sd[i]) {
		sd = c.sd[i]
	}
	return c.y[i] - sd, c.y[i] + sd
}

// Plot implements plot.Plotter: the band below the line below the markers, broken
// where a value is missing.
func (c curve) Plot(da draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&da)
	for from := 0; from < len(c.y); {
		if !finite(c.y[from]) {
			from++
			continue
		}
		to := from
		for to < len(c.y) && finite(c.y[to]) {
			to++
		}
		var line, upper, lower []vg.Point
		for i := from; i < to; i++ {
			lo, hi := c.band(i)
			x := tx(c.x[i])
			line = append(line, vg.Point{X: x, Y: ty(c.y[i])})
			upper = append(upper, vg.Point{X: x, Y: ty(hi)})
			lower = append(lower, vg.Point{X: x, Y: ty(lo)})
		}
		c.paintBand(da, lower, upper)
		size := vg.Length(1)
		if c.small {
			size = .75
		}
		if len(line) == 1 && c.marker == noMarker { // a level, at one x
			line = []vg.Point{{X: da.Min.X, Y: line[0].Y}, {X: da.Max.X, Y: line[0].Y}}
		}
		da.StrokeLines(c.line(size), line)
		for _, pt := range line {
			c.paintMarker(da, pt, size)
		}
		from = to
	}
}

// paintBand fills between two lines; over a single point it is a bar.
func (c curve) paintBand(da draw.Canvas, lower, upper []vg.Point) {
	pale := c.color
	pale.A = 46
	if len(lower) == 1 && upper[0].Y > lower[0].Y {
		da.StrokeLine2(draw.LineStyle{Color: c.color, Width: .8}, lower[0].X, lower[0].Y, upper[0].X, upper[0].Y)
		return
	}
	if slices.Equal(lower, upper) {
		return
	}
	slices.Reverse(lower)
	da.SetColor(pale)
	da.Fill(polygon(append(upper, lower...)))
}

// line is the style of the curve's line, in parts of its usual width.
func (s style) line(size vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: s.color, Width: cmp.Or(s.width, lineWidth) * size, Dashes: s.dashes}
}

// paintMarker draws the marker with a white rim, which keeps markers apart that lie
// on one another.
func (s style) paintMarker(c draw.Canvas, at vg.Point, size vg.Length) {
	if s.marker.corners < 0 {
		return
	}
	path := s.marker.outline(at, markerRadius*size)
	var fill, rim color.Color = s.color, color.White
	width := vg.Length(.35)
	if s.open {
		fill, rim, width = rim, fill, .8
	}
	c.SetColor(fill)
	c.Fill(path)
	c.SetLineStyle(draw.LineStyle{Color: rim, Width: width})
	c.Stroke(path)
}

const legendGap = vg.Length(12)

func (l legend) widthOf(e entry) vg.Length {
	return sampleWidth + 4 + textStyle(legendSize).Width(e.label) + legendGap
}

func (l legend) titleWidth() vg.Length {
	if l.title == "" {
		return 0
	}
	return textStyle(legendSize).Width(l.title) + legendGap
}

// lines breaks the legend into as few lines as fit into a width, of about the same
// length.
func (l legend) lines(width vg.Length) []legend {
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

func (l legend) fill(width vg.Length) []legend {
	out := []legend{{title: l.title}}
	used := l.titleWidth()
	for _, e := range l.entries {
		last := &out[len(out)-1]
		if used+l.widthOf(e) > width && len(last.entries) > 0 {
			out = append(out, legend{})
			last, used = &out[len(out)-1], 0
		}
		last.entries = append(last.entries, e)
		used += l.widthOf(e)
	}
	return out
}

// paint draws a line of the legend, centred around y.
func (l legend) paint(c draw.Canvas, y vg.Length) {
	width := l.titleWidth() - legendGap
	for _, e := range l.entries {
		width += l.widthOf(e)
	}
	sty := textStyle(legendSize)
	x := max(c.Min.X+2, c.Center().X-width/2)
	if l.title != "" {
		c.FillText(sty, vg.Point{X: x, Y: y}, l.title)
		x += l.titleWidth()
	}
	for _, e := range l.entries {
		c.StrokeLine2(e.line(1), x, y, x+sampleWidth, y)
		e.paintMarker(c, vg.Point{X: x + sampleWidth/2, Y: y}, 1)
		c.FillText(sty, vg.Point{X: x + sampleWidth + 4, Y: y}, e.label)
		x += l.widthOf(e)
	}
}
