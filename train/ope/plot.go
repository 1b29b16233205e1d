package ope

import (
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"

	"opl/train/report/figure"
)

// Plot draws estimates with their intervals to w, one line an estimator and a colour a
// policy, beside the on-policy value of the logging policy. Open marks are
// biased estimators, which the legend says. The format is png, svg or pdf.
func (r Result) Plot(w io.Writer, format string) error {
	b, err := r.Figure().Encode(format, figure.ScreenDPI)
	if err != nil {
		return fmt.Errorf("ope: plot: %w", err)
	}
	_, err = w.Write(b)
	return err
}

// Figure is what Plot draws.
func (r Result) Figure() figure.Figure {
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
	play := figure.Reference
	play.Dashes = nil
	log := figure.Curve{Name: "logging, on-policy", Style: play, Kind: figure.Span,
		X: []float64{r.Logging.Value}, Y: []float64{0}, Low: []float64{r.Logging.Low}, High: []float64{r.Logging.High}}
	panel := &figure.Panel{X: fmt.Sprintf("mean reward, with %.4g %% interval (%s)", 100*(1-r.Delta), r.Interval), Lines: labels, Curves: []figure.Curve{log}}
	key := figure.Legend{Entries: []figure.Entry{{Label: log.Name, Style: log.Style}}}
	for j, policy := range r.Policies {
		c := figure.Curve{Name: policy.Name, Style: figure.Category(j), Kind: figure.Across}
		if c.Open = false; j < figure.Categories {
			c.Dashes = nil
		}
		shift := 0.5 * (float64(j) - float64(len(r.Policies)-1)/2) / float64(max(2, len(r.Policies)))
		for _, e := range policy.Estimates {
			c.X, c.Y = append(c.X, e.Value), append(c.Y, -float64(slices.Index(names, e.Estimator))-shift)
			c.Low, c.High = append(c.Low, e.Low), append(c.High, e.High)
			text := e.Label()
			if e.Biased {
				text += ", biased"
			}
			c.Hollow, c.Texts = append(c.Hollow, e.Biased), append(c.Texts, text)
		}
		panel.Curves = append(panel.Curves, c)
		key.Entries = append(key.Entries, figure.Entry{Label: policy.Name, Style: c.Style})
	}
	if r.names(func(e Estimate) bool { return e.Biased }) != "" {
		open := figure.Neutral
		open.Open = true
		key.Entries = append(key.Entries, figure.Entry{Label: "open: biased, its own mean", Style: open})
	}
	lines := vg.Length(len(labels)) * (1 + .3*vg.Length(math.Log2(float64(max(1, len(r.Policies))))))
	return figure.Figure{Name: "values", Panels: [][]*figure.Panel{{panel}}, Legends: []figure.Legend{key}, Width: 6.2 * vg.Inch, Height: .7*vg.Inch + lines*.27*vg.Inch}
}
