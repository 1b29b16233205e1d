package table_test

import (
	"os"

	"opl/train/report/table"
)

func Example() {
	rows := [][]string{{"careful", "0.745", "better"}, {"uniform", "0.446", "not shown"}}
	_ = table.Write(os.Stdout, table.Markdown, []string{"policy", "value ≥", "verdict"}, rows)
	// Output:
	// | policy  | value ≥ | verdict   |
	// |:--------|:--------|:----------|
	// | careful | 0.745   | better    |
	// | uniform | 0.446   | not shown |
}
