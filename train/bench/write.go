package bench

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"opl/train/report/table"
)

// Write prints the result in a format. Text and Markdown have biases in hundredths of the reward, variances and
// mean squared errors in their squares, ± standard errors over seeds; that of the variance is about the MSE's less the
// bias's part, and Text, in 80 columns, leaves it out. CSV and JSON have numbers as they are.
func (r Result) Write(w io.Writer, f table.Format) error {
	switch f {
	case table.JSON:
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(r)
	case table.CSV:
		return r.writeCSV(w)
	case table.Text, table.Markdown:
	default:
		return fmt.Errorf("bench: unknown format %q", f)
	}
	var rows [][]string
	var biased []string
	for i, c := range r.Cells {
		if c.Biased {
			if i == 0 || !strings.Contains(strings.Join(biased, " "), c.Estimator) {
				biased = append(biased, c.Estimator)
			}
		}
		variance := c.Variance.text(1e4)
		if f == table.Text { // 80 columns
			variance, _, _ = strings.Cut(variance, " ")
		}
		rows = append(rows, []string{c.Logging, strconv.Itoa(c.Rows), c.Estimator, c.Bias.text(100), variance, c.MSE.text(1e4), fmt.Sprintf("%.0f ± %.0f", 100*c.Coverage.Value, 100*c.Coverage.SE)})
	}
	if err := table.Write(w, f, []string{"logging", "rows", "estimate", "bias", "variance", "MSE", "% in"}, rows); err != nil {
		return err
	}
	para := func(format string, args ...any) {
		if f == table.Markdown {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, format+"\n", args...)
	}
	para("%s: %d examples of %d classes, rewards flipped with probability %v; the target earns %.4f", r.Data, r.Population, r.Actions, r.Noise, r.Value)
	for _, l := range r.Logged {
		para("%s earns %.4f; %.2g of its rows are effective", l.Logging, l.Value, l.ESS)
	}
	para("bias in hundredths, variance and MSE in their squares, ± standard errors over %d logs, seeds from %d on", r.Seeds, r.Seed)
	para("%% in: how many intervals, %s at %.4g %%, hold the value; r̂: %s", r.Interval, 100*(1-r.Delta), r.Model)
	if biased != nil {
		para("%s: biased; the interval is of the estimator's own mean", strings.Join(biased, ", "))
	}
	for _, c := range r.Cells {
		if c.Logs < r.Seeds {
			para("%s of %s, %d rows: no value in %d logs", c.Estimator, c.Logging, c.Rows, r.Seeds-c.Logs)
		}
	}
	for _, m := range r.Missing {
		para("left out: %s", m)
	}
	return nil
}

// text is the number times scale, rounded to two digits of its standard error.
func (m Measured) text(scale float64) string {
	d := 2
	if se := m.SE * scale; se > 0 {
		d = max(0, min(6, 1-int(math.Floor(math.Log10(se)))))
	}
	return fmt.Sprintf("%.*f ± %.*f", d, m.Value*scale, d, m.SE*scale)
}

func (r Result) writeCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	_ = c.Write([]string{"data", "logging", "rows", "estimator", "biased", "logs", "bias", "bias_se", "variance", "variance_se", "mse", "mse_se", "coverage", "coverage_se", "half_width"})
	for _, x := range r.Cells {
		line := []string{r.Data, x.Logging, strconv.Itoa(x.Rows), x.Estimator, strconv.FormatBool(x.Biased), strconv.Itoa(x.Logs)}
		for _, v := range []float64{x.Bias.Value, x.Bias.SE, x.Variance.Value, x.Variance.SE, x.MSE.Value, x.MSE.SE, x.Coverage.Value, x.Coverage.SE, x.Half} {
			line = append(line, strconv.FormatFloat(v, 'g', -1, 64))
		}
		_ = c.Write(line)
	}
	c.Flush()
	return c.Error()
}
