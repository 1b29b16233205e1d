package bench

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// colours are those of Okabe & Ito (2008), which readers of any colour vision tell apart.
var colours = []color.Color{
	color.RGBA{0x00, 0x72, 0xB2, 0xFF}, color.RGBA{0xD5, 0x5E, 0x00, 0xFF}, color.RGBA{0x00, 0x9E, 0x73, 0xFF},
	color.RGBA{0xCC, 0x79, 0xA7, 0xFF}, color.RGBA{0xE6, 0x9F, 0x00, 0xFF}, color.RGBA{0x56, 0xB4, 0xE9, 0xFF},
}

var dashes = [][]vg.Length{nil, {5, 2}, {1.5, 1.5}}

// Plot draws the root of the mean squared error by rows to w, a panel a logging policy and a line an estimator, with a
// bar of two standard errors to each side. Open marks are biased estimators, as the legend says. The format is png, svg or pdf.
func (r Result) Plot(w io.Writer, format string) error {
	var names []string
	var rows []int
	low, high := math.Inf(1), 0.
	for _, c := range r.Cells {
		if !slices.Contains(names, c.Estimator) {
			names = append(names, c.Estimator)
		}
		if !slices.Contains(rows, c.Rows) {
			rows = append(rows, c.Rows)
		}
		if a, b := c.ends(); a > 0 {
			low, high = min(low, a), max(high, b)
		}
	}
	if high == 0 {
		return fmt.Errorf("bench: nothing to draw: no estimator has an error above 0")
	}
	slices.Sort(rows)
	var panels []*plot.Plot
	for i, l := range r.Logged {
		p := panel(l.Logging, rows, low, high)
		if i > 0 {
			p.Y.Label.Text = ""
		}
		for _, name := range names {
			line := of(name, names)
			line.shift *= beside(len(names), len(rows))
			for _, c := range r.Cells {
				if c.Logging == l.Logging && c.Estimator == name {
					line.cells, line.open = append(line.cells, c), c.Biased
				}
			}
			p.Add(line)
		}
		panels = append(panels, p)
	}
	legend := plot.NewLegend()
	legend.TextStyle.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: 8}
	legend.Left, legend.Top, legend.Padding = true, true, 1
	biased := false
	for _, name := range names {
		line := of(name, names)
		line.open = slices.ContainsFunc(r.Cells, func(c Cell) bool { return c.Estimator == name && c.Biased })
		biased = biased || line.open
		legend.Add(name, line)
	}
	if biased {
		legend.Add("open: biased")
	}
	const edge = 6
	wide := 2.1*vg.Inch*vg.Length(len(panels)) + 1.1*vg.Inch
	tall := max(2.6*vg.Inch, vg.Length(len(names)+2)*11+20)
	var to vg.CanvasWriterTo
	if format == "png" {
		to = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(wide, tall), vgimg.UseDPI(150))}
	} else {
		var err error
		if to, err = draw.NewFormattedCanvas(wide, tall, format); err != nil {
			return fmt.Errorf("bench: plot: %w", err)
		}
	}
	c := draw.Crop(draw.New(to), edge, -edge, edge, -edge)
	left := draw.Crop(c, 0, -1.1*vg.Inch, 0, 0)
	canvases := plot.Align([][]*plot.Plot{panels}, draw.Tiles{Rows: 1, Cols: len(panels), PadX: 8}, left)
	for i, p := range panels {
		p.Draw(canvases[0][i])
	}
	legend.Draw(draw.Crop(c, c.Max.X-c.Min.X-vg.Inch, 0, 0, -12))
	_, err := to.WriteTo(w)
	return err
}

// panel is an empty one, with logarithmic axes.
func panel(title string, rows []int, low, high float64) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, "rows", "root MSE"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Min, p.X.Max = float64(rows[0])/1.3, float64(rows[len(rows)-1])*1.3
	p.Y.Min, p.Y.Max = low/1.2, high*1.2
	var x plot.ConstantTicks
	for _, n := range rows {
		x = append(x, plot.Tick{Value: float64(n), Label: strconv.Itoa(n)})
	}
	p.X.Tick.Marker = x
	var y plot.ConstantTicks
	for e := math.Floor(math.Log10(p.Y.Min)); e <= math.Log10(p.Y.Max); e++ {
		for _, m := range []float64{1, 2, 5} {
			if v := m * math.Pow(10, e); v >= p.Y.Min && v <= p.Y.Max {
				y = append(y, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', 3, 64)})
			}
		}
	}
	p.Y.Tick.Marker = y
	for _, f := range []*font.Font{&p.Title.TextStyle.Font, &p.X.Tick.Label.Font, &p.Y.Tick.Label.Font, &p.X.Label.TextStyle.Font, &p.Y.Label.TextStyle.Font} {
		*f = font.Font{Typeface: "Liberation", Variant: "Sans", Size: 9}
	}
	return p
}

// ends are √(MSE ∓ 2 standard errors), the lower one at least half of √MSE.
func (c Cell) ends() (low, high float64) {
	m := c.MSE
	return math.Sqrt(max(m.Value-2*m.SE, m.Value/4)), math.Sqrt(m.Value + 2*m.SE)
}

// curve is the line of an estimator.
type curve struct {
	cells  []Cell
	colour color.Color
	dashes []vg.Length
	open   bool
	shift  vg.Length // to the right, so that marks stand beside one another
}

// beside is how far apart the marks of so many estimators stand, of logs of so many lengths.
func beside(estimators, lengths int) vg.Length {
	if lengths > 1 {
		return 1.5
	}
	return min(10, 110/vg.Length(estimators))
}

func of(name string, names []string) curve {
	i := slices.Index(names, name)
	return curve{colour: colours[i%len(colours)], dashes: dashes[i/len(colours)%len(dashes)], shift: vg.Length(i) - vg.Length(len(names)-1)/2}
}

// Plot implements plot.Plotter.
func (l curve) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	var points []vg.Point
	for _, cell := range l.cells {
		if cell.MSE.Value > 0 {
			low, high := cell.ends()
			at := x(float64(cell.Rows)) + l.shift
			points = append(points, vg.Point{X: at, Y: y(math.Sqrt(cell.MSE.Value))})
			c.StrokeLine2(draw.LineStyle{Color: l.colour, Width: vg.Points(.8)}, at, y(low), at, y(high))
		}
	}
	if len(points) > 1 {
		c.StrokeLines(draw.LineStyle{Color: l.colour, Width: vg.Points(1.2), Dashes: l.dashes}, points)
	}
	for _, at := range points {
		l.mark(c, at)
	}
}

// Thumbnail implements plot.Thumbnailer.
func (l curve) Thumbnail(c *draw.Canvas) {
	y := (c.Min.Y + c.Max.Y) / 2
	c.StrokeLine2(draw.LineStyle{Color: l.colour, Width: vg.Points(1.2), Dashes: l.dashes}, c.Min.X, y, c.Max.X, y)
	l.mark(*c, vg.Point{X: (c.Min.X + c.Max.X) / 2, Y: y})
}

func (l curve) mark(c draw.Canvas, at vg.Point) {
	c.DrawGlyph(draw.GlyphStyle{Color: l.colour, Radius: vg.Points(2.6), Shape: draw.CircleGlyph{}}, at)
	if l.open {
		c.DrawGlyph(draw.GlyphStyle{Color: color.White, Radius: vg.Points(1.5), Shape: draw.CircleGlyph{}}, at)
	}
}
