package ope

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

// okabeIto are colours that most colour-blind readers tell apart (Okabe & Ito).
var okabeIto = []color.Color{
	color.RGBA{0x00, 0x72, 0xB2, 0xFF}, color.RGBA{0xD5, 0x5E, 0x00, 0xFF}, color.RGBA{0x00, 0x9E, 0x73, 0xFF},
	color.RGBA{0xCC, 0x79, 0xA7, 0xFF}, color.RGBA{0xE6, 0x9F, 0x00, 0xFF}, color.RGBA{0x56, 0xB4, 0xE9, 0xFF},
}

// Plot draws estimates with their intervals to w, one line an estimator and a colour a
// policy, beside the on-policy value of the logging policy. Hollow marks are
// biased estimators, which the legend says. The format is png, svg or pdf.
func (r Result) Plot(w io.Writer, format string) error {
	r = r.InUnits()
	var names, labels []string // labels have hyperparameters that all policies share
	for _, p := range r.Policies {
		for _, e := range p.Estimates {
			if at := slices.Index(names, e.Estimator); at < 0 {
				names, labels = append(names, e.Estimator), append(labels, e.Label())
			} else if labels[at] != e.Label() {
				labels[at] = e.Estimator
			}
		}
	}
	lines := float64(len(labels))
	p := plot.New()
	p.X.Label.Text = fmt.Sprintf("mean reward, with %.4g %% interval (%s)", 100*(1-r.Delta), r.Interval)
	p.Y.Min, p.Y.Max = -lines+0.4, 0.6
	p.X.Min, p.X.Max = r.Logging.Low, r.Logging.High
	ticks := make([]plot.Tick, len(labels))
	for i, m := range labels {
		ticks[i] = plot.Tick{Value: -float64(i), Label: m}
	}
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	p.Y.Tick.Length = 0
	p.X.Tick.Marker = decimals{}
	p.X.Padding, p.Y.Padding = 0, 0
	for _, f := range []*font.Font{&p.X.Tick.Label.Font, &p.Y.Tick.Label.Font, &p.X.Label.TextStyle.Font, &p.Legend.TextStyle.Font} {
		*f = font.Font{Typeface: "Liberation", Variant: "Sans", Size: 9}
	}
	p.X.Label.Padding = 4
	p.Legend.Top, p.Legend.XOffs, p.Legend.YOffs = true, -4, -2
	p.Legend.Padding = 2

	log := marks{all: []mark{{0, Estimate{Interval: r.Logging}}}, paint: band}
	p.Add(log)
	p.Legend.Add("logging, on-policy", log)
	for j, policy := range r.Policies {
		s := marks{paint: interval(okabeIto[j%len(okabeIto)])}
		shift := 0.5 * (float64(j) - float64(len(r.Policies)-1)/2) / float64(max(2, len(r.Policies)))
		for _, e := range policy.Estimates {
			s.all = append(s.all, mark{-float64(slices.Index(names, e.Estimator)) - shift, e})
			p.X.Min, p.X.Max = math.Min(p.X.Min, e.Low), math.Max(p.X.Max, e.High)
		}
		p.Add(s)
		p.Legend.Add(policy.Name, s)
	}
	above := 1 + len(r.Policies)
	if r.names(func(e Estimate) bool { return e.Biased }) != "" {
		p.Legend.Add("hollow: biased, its own mean", marks{paint: interval(darkGrey), hollow: true})
		above++
	}
	margin := 0.03 * (p.X.Max - p.X.Min)
	if margin == 0 {
		margin = 0.5
	}
	p.X.Min, p.X.Max = p.X.Min-margin, p.X.Max+margin
	// The legend stands above the lines.
	p.Y.Max += 0.55 * float64(above)

	const width, edge = 6.2 * vg.Inch, 6
	height := vg.Length(p.Y.Max-p.Y.Min)*0.27*vg.Inch + 0.5*vg.Inch
	var to vg.CanvasWriterTo
	if format == "png" {
		to = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(150))}
	} else {
		var err error
		if to, err = draw.NewFormattedCanvas(width, height, format); err != nil {
			return fmt.Errorf("ope: plot: %w", err)
		}
	}
	c := draw.New(to)
	p.Draw(draw.Crop(c, edge, -edge, edge, -edge))
	_, err := to.WriteTo(w)
	return err
}

// decimals are about five ticks, all labelled.
type decimals struct{}

// Ticks implements plot.Ticker.
func (decimals) Ticks(low, high float64) []plot.Tick {
	step := math.Pow(10, math.Floor(math.Log10((high-low)/3)))
	for _, m := range []float64{5, 2} {
		if (high-low)/(step*m) >= 3 {
			step *= m
			break
		}
	}
	var ticks []plot.Tick
	for i := math.Ceil(low / step); i*step <= high; i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: strconv.FormatFloat(i*step, 'g', 4, 64)})
	}
	return ticks
}

var (
	grey     = color.RGBA{0xE4, 0xE4, 0xE4, 0xFF}
	darkGrey = color.RGBA{0x60, 0x60, 0x60, 0xFF}
)

// marks are estimates with their intervals, which paint paints.
type marks struct {
	all    []mark
	paint  func(c draw.Canvas, low, high, middle, y vg.Length, hollow bool)
	hollow bool // in the legend
}

type mark struct {
	y float64
	Estimate
}

// Plot implements plot.Plotter.
func (m marks) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, e := range m.all {
		m.paint(c, x(e.Low), x(e.High), x(e.Value), y(e.y), e.Biased)
	}
}

// Thumbnail implements plot.Thumbnailer.
func (m marks) Thumbnail(c *draw.Canvas) {
	m.paint(*c, c.Min.X, c.Max.X, (c.Min.X+c.Max.X)/2, (c.Min.Y+c.Max.Y)/2, m.hollow)
}

// band paints an interval across all lines.
func band(c draw.Canvas, low, high, middle, _ vg.Length, _ bool) {
	c.FillPolygon(grey, []vg.Point{{X: low, Y: c.Min.Y}, {X: high, Y: c.Min.Y}, {X: high, Y: c.Max.Y}, {X: low, Y: c.Max.Y}})
	c.StrokeLine2(draw.LineStyle{Color: darkGrey, Width: vg.Points(1)}, middle, c.Min.Y, middle, c.Max.Y)
}

// interval paints one on its line, in a colour.
func interval(of color.Color) func(c draw.Canvas, low, high, middle, y vg.Length, hollow bool) {
	return func(c draw.Canvas, low, high, middle, y vg.Length, hollow bool) {
		c.StrokeLine2(draw.LineStyle{Color: of, Width: vg.Points(1.4)}, low, y, high, y)
		at := vg.Point{X: middle, Y: y}
		c.DrawGlyph(draw.GlyphStyle{Color: of, Radius: vg.Points(3), Shape: draw.CircleGlyph{}}, at)
		if hollow {
			c.DrawGlyph(draw.GlyphStyle{Color: color.White, Radius: vg.Points(1.8), Shape: draw.CircleGlyph{}}, at)
		}
	}
}
