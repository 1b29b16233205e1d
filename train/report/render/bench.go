package render

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot/vg"

	"opl/train/bench"
	"opl/train/bench/worlds"
	"opl/train/logs"
	"opl/train/report/figure"
	"opl/train/report/table"
)

// Bench prints a result in a format. Text and Markdown give biases in hundredths of the reward,
// variances and mean squared errors in their squares, ± standard errors over seeds. The variance's
// error is about the MSE's less the bias's part; Text, in 80 columns, leaves it out. CSV gives plain
// numbers.
func Bench(w io.Writer, f table.Format, r bench.Result) error {
	if f == table.CSV {
		return benchCSV(w, r)
	}
	var rows [][]string
	var biased []string
	for _, c := range r.Cells {
		if c.Biased && !slices.Contains(biased, c.Estimator) {
			biased = append(biased, c.Estimator)
		}
		variance := measured(c.Variance, 1e4)
		if f == table.Text { // 80 columns
			variance, _, _ = strings.Cut(variance, " ")
		}
		rows = append(rows, []string{c.Logging, strconv.Itoa(c.Rows), c.Estimator, measured(c.Bias, 100), variance,
			measured(c.MSE, 1e4),
			fmt.Sprintf("%.0f ± %.0f", 100*c.Coverage.Value, 100*c.Coverage.SE)})
	}
	if f == table.Text {
		fmt.Fprintln(w, concludedBench(r))
	}
	if err := table.Write(w, f, []string{"logging", "rows", "estimate", "bias", "variance", "MSE", "% in"},
		rows); err != nil {
		return err
	}
	d := document{w, f}
	d.para("%s: %d examples of %d classes, rewards flipped with probability %v; the target earns %.4f",
		r.Data, r.Population, r.Actions, r.Noise, r.Value)
	for _, l := range r.Logged {
		d.para("%s earns %.4f; %.2g of its rows are effective", l.Logging, l.Value, l.ESS)
	}
	d.para("bias in hundredths, variance and MSE in their squares, ± standard errors over %d logs, seeds from %d "+
		"on", r.Seeds, r.Seed)
	d.para("%% in: how many intervals, %s at %s, hold the value; r̂: %s", r.Interval, percent(r.Delta), r.Model)
	if biased != nil {
		d.para("%s: biased; the interval is of the estimator's own mean", strings.Join(biased, ", "))
	}
	for _, c := range r.Cells {
		if c.Logs < r.Seeds {
			d.para("%s of %s, %d rows: no value in %d logs", c.Estimator, c.Logging, c.Rows, r.Seeds-c.Logs)
		}
	}
	d.paras("left out: ", r.Missing)
	return nil
}

// concludedBench says which estimator has the least mean squared error most often, and what to do next.
func concludedBench(r bench.Result) string {
	least, won := map[string]bench.Cell{}, map[string]int{}
	for _, c := range r.Cells {
		at := fmt.Sprint(c.Logging, c.Rows)
		if best, ok := least[at]; !ok || c.MSE.Value < best.MSE.Value {
			least[at] = c
		}
	}
	for _, c := range least {
		won[c.Estimator]++
	}
	best := ""
	for _, c := range r.Cells { // the first of several
		if won[c.Estimator] > won[best] {
			best = c.Estimator
		}
	}
	return fmt.Sprintf("%s has the least mean squared error in %d of %d settings; next: opl evaluate --estimators %s, "+
		"on your own log", best, won[best], len(least), best)
}

// measured is a number times scale, with two digits of its standard error.
func measured(m bench.Measured, scale float64) string {
	return around(plain, m.Value*scale, m.SE*scale)
}

func benchCSV(w io.Writer, r bench.Result) error {
	head := []string{"data", "logging", "rows", "estimator", "biased", "logs", "bias", "bias_se", "variance",
		"variance_se", "mse", "mse_se", "coverage", "coverage_se", "half_width"}
	var rows [][]string
	for _, x := range r.Cells {
		rows = append(rows, []string{r.Data, x.Logging, strconv.Itoa(x.Rows), x.Estimator,
			strconv.FormatBool(x.Biased), strconv.Itoa(x.Logs),
			exact(x.Bias.Value), exact(x.Bias.SE), exact(x.Variance.Value), exact(x.Variance.SE),
			exact(x.MSE.Value), exact(x.MSE.SE),
			exact(x.Coverage.Value), exact(x.Coverage.SE), exact(x.Half)})
	}
	return table.Write(w, table.CSV, head, rows)
}

// BenchFigure draws the root of the mean squared error by rows, a panel a logging policy and a line
// an estimator, with a bar of two standard errors to each side. Open marks are biased estimators,
// as the legend says. It has no panels where there is nothing to draw.
func BenchFigure(r bench.Result) figure.Figure {
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
			line.Marker, line.Open = figure.Category(0).Marker,
				slices.ContainsFunc(r.Cells, func(c bench.Cell) bool { return c.Estimator == name && c.Biased })
			if i == 0 {
				key.Entries = append(key.Entries, figure.Entry{Label: name, Style: line.Style})
			}
			for _, c := range r.Cells {
				if c.Logging == l.Logging && c.Estimator == name {
					low, high := ends(c)
					line.Add(float64(c.Rows)*math.Pow(step, float64(j)-float64(len(names)-1)/2),
						math.Sqrt(c.MSE.Value), low, high, "")
				}
			}
			p.Curves = append(p.Curves, line)
		}
		panels = append(panels, p)
	}
	f := figure.Figure{Name: "bench", Panels: [][]*figure.Panel{panels}, Legends: []figure.Legend{key},
		Width: (.6 + 2.2*vg.Length(len(panels))) * vg.Inch, Height: 2.8 * vg.Inch}
	if slices.ContainsFunc(key.Entries, func(e figure.Entry) bool { return e.Open }) {
		open := figure.Neutral
		open.Open = true
		f.Legends = append(f.Legends, figure.Legend{Entries: []figure.Entry{{Label: "open: biased", Style: open}}})
	}
	return f
}

// ends returns √(MSE ∓ 2 standard errors). The lower end is at least half of √MSE, which a logarithmic axis can
// show.
func ends(c bench.Cell) (low, high float64) {
	m := c.MSE
	return math.Sqrt(max(m.Value-2*m.SE, m.Value/4)), math.Sqrt(m.Value + 2*m.SE)
}

// Worlds writes what learners earn in worlds whose truth is known, a line for each world, number of rows and learner.
func Worlds(w io.Writer, f table.Format, cells []worlds.Cell) error {
	head := []string{"world", "rows", "learner", "reward", "guaranteed", "gain at least", "false"}
	var rows [][]string
	for _, c := range cells {
		row := []string{c.World, strconv.Itoa(c.Rows), c.Learner, meanOf(c.Rewards, true), "", "", ""}
		if len(c.Guaranteed) > 0 {
			row[4], row[5], row[6] = meanOf(c.Guaranteed, false), meanOf(c.Gains, false), strconv.Itoa(c.Violations)
		}
		rows = append(rows, row)
	}
	if err := table.Write(w, f, head, rows); err != nil {
		return err
	}
	if f != table.Text {
		return nil
	}
	_, err := fmt.Fprintf(w, "reward: what the policy truly earns, mean over %d logs ± standard error; false: logs "+
		"whose guarantee, of the reward or the gain, was above the truth\n", len(cells[0].Rewards))
	return err
}

// meanOf is the mean of numbers, with its standard error.
func meanOf(x []float64, se bool) string {
	m, sd := stat.MeanStdDev(x, nil)
	half := sd / math.Sqrt(float64(len(x)))
	if !se || len(x) < 2 {
		return fmt.Sprintf(plain, logs.Places(half), m)
	}
	return around(plain, m, half)
}
