package render

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"gonum.org/v1/gonum/stat"

	"opl/train/bench/worlds"
	"opl/train/logs"
	"opl/train/report/table"
)

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
