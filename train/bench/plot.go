package bench

import (
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"

	"opl/train/report/figure"
)

// Plot draws the root of the mean squared error by rows to w, a panel a logging policy and a line an estimator, with a
// bar of two standard errors to each side. Open marks are biased estimators, as the legend says. The format is png, svg or pdf.
func (r Result) Plot(w io.Writer, format string) error {
	f := r.Figure()
	if len(f.Panels) == 0 {
		return fmt.Errorf("bench: nothing to draw: no estimator has an error above 0")
	}
	b, err := f.Encode(format, figure.ScreenDPI)
	if err != nil {
		return fmt.Errorf("bench: plot: %w", err)
	}
	_, err = w.Write(b)
	return err
}

// Figure is what Plot draws, without panels where there is nothing to draw.
func (r Result) Figure() figure.Figure {
	var names []string
	var rows []float64
	some := false
	for _, c := range r.Cells {
		if !slices.Contains(names, c.Estimator) {
			names = append(names, c.Estimator)
		}
		if !slices.Contains(rows, float64(c.Rows)) {
			rows = append(rows, float64(c.Rows))
		}
		some = some || c.MSE.Value > 0
	}
	if !some {
		return figure.Figure{}
	}
	slices.Sort(rows)
	// Marks stand beside one another: so much further right a line.
	step := math.Pow(1.35, 1/float64(len(names)))
	for i := 1; i < len(rows); i++ {
		step = min(step, math.Pow(rows[i]/rows[i-1], .15/float64(len(names))))
	}
	var key figure.Legend
	var panels []*figure.Panel
	for i, l := range r.Logged {
		p := &figure.Panel{Title: l.Logging, X: "rows", LogX: true, LogY: true, At: rows}
		if i == 0 {
			p.Y = "root MSE"
		}
		for j, name := range names {
			line := figure.Curve{Name: name, Style: figure.Category(j), Kind: figure.Barred}
			line.Marker, line.Open = figure.Category(0).Marker, slices.ContainsFunc(r.Cells, func(c Cell) bool { return c.Estimator == name && c.Biased })
			if i == 0 {
				key.Entries = append(key.Entries, figure.Entry{Label: name, Style: line.Style})
			}
			for _, c := range r.Cells {
				if c.Logging == l.Logging && c.Estimator == name {
					low, high := c.ends()
					line.X, line.Y = append(line.X, float64(c.Rows)*math.Pow(step, float64(j)-float64(len(names)-1)/2)), append(line.Y, math.Sqrt(c.MSE.Value))
					line.Low, line.High = append(line.Low, low), append(line.High, high)
				}
			}
			p.Curves = append(p.Curves, line)
		}
		panels = append(panels, p)
	}
	f := figure.Figure{Name: "bench", Panels: [][]*figure.Panel{panels}, Legends: []figure.Legend{key}, Width: (.6 + 2.2*vg.Length(len(panels))) * vg.Inch, Height: 2.8 * vg.Inch}
	if slices.ContainsFunc(key.Entries, func(e figure.Entry) bool { return e.Open }) {
		open := figure.Neutral
		open.Open = true
		f.Legends = append(f.Legends, figure.Legend{Entries: []figure.Entry{{Label: "open: biased", Style: open}}})
	}
	return f
}

// ends are √(MSE ∓ 2 standard errors), the lower one at least half of √MSE.
func (c Cell) ends() (low, high float64) {
	m := c.MSE
	return math.Sqrt(max(m.Value-2*m.SE, m.Value/4)), math.Sqrt(m.Value + 2*m.SE)
}
