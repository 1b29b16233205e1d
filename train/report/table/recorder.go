package table

import "strings"

// Recorder is a writer that keeps what is written to it in order, tables as tables, for those who lay it out by
// other means.
type Recorder struct{ blocks []Block }

// Block is a table, or, without a head, a text.
type Block struct {
	Text string
	Head []string
	Rows [][]string
}

// Write implements io.Writer.
func (r *Recorder) Write(b []byte) (int, error) {
	if n := len(r.blocks); n == 0 || r.blocks[n-1].Head != nil {
		r.blocks = append(r.blocks, Block{})
	}
	r.blocks[len(r.blocks)-1].Text += string(b)
	return len(b), nil
}

// Blocks returns the tables, and the lines of text that are not empty.
func (r *Recorder) Blocks() (all []Block) {
	for _, b := range r.blocks {
		if b.Head != nil {
			all = append(all, b)
			continue
		}
		for line := range strings.Lines(b.Text) {
			if line = strings.TrimSpace(line); line != "" {
				all = append(all, Block{Text: line})
			}
		}
	}
	return all
}
