package report

import (
	"flag"
	"io"

	"opl/train"
)

// Update is the flag of the package's golden files.
var Update = flag.Bool("update", false, "write the golden files")

// Rewards is the reward table as text of a width.
var Rewards = rewards

// Blocks are the terms as text of a width.
func Blocks(w io.Writer, width int, recs []train.Record) error {
	return writeBlocks(w, width, values(recs))
}
