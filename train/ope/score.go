package ope

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/parquet-go/parquet-go"

	"opl/policies/policyfile"
	"opl/policies/wholefile"
	"opl/train/certify"
	"opl/train/logs"
	"opl/train/provenance"
)

// mostListed is up to how many actions all propensities are written, unless they are asked for.
const mostListed = 100

// ScoreOptions say what of a policy's propensities is written.
type ScoreOptions struct {
	All     bool // of more than 100 actions, too
	New     bool // a file that is there, or appears meanwhile, is an fs.ErrExist
	Threads int  // 0: as many as there are processors
}

// WriteScores writes π(·|x_i) of a policy for each row i of a log, in its order, to a file,
// .parquet, .csv or .jsonl:
//
//	row            place in the log's file, from 1, without the header
//	decision_id    where the log has it
//	logged_action  a_i; its place from "1" where actions have no ids
//	probability    π(a_i|x_i)
//	probabilities  π(·|x_i), a list of what the row offers in its order, or else of the policy's actions in
//	               theirs; not of more than 100 of these unless o.All
//
// [ReadTarget] reads it, but nothing is guaranteed of that target, as the policy's file alone says
// which rows taught it. It returns these names, as far as they are written. Memory is bounded,
// whatever the number of rows; the file is there whole, or not at all. Errors: another ending, and
// a policy whose actions or features are not the log's: of the columns that it reads all must be
// there, as numbers or as categories.
func WriteScores(ctx context.Context, path string, p *policyfile.Policy, l *logs.Log,
	o ScoreOptions) (columns []string, err error) {
	to := scoreWriters[filepath.Ext(path)]
	if to == nil {
		return nil, fmt.Errorf("%s: want a name that ends in .parquet, .csv or .jsonl", path)
	}
	if l, err = readable(p, l); err != nil {
		return nil, err
	}
	plays, err := provenance.Players(p, l)
	if err != nil {
		return nil, err
	}
	columns = []string{"row", "logged_action", "probability"}
	if l.HasIDs() {
		columns = slices.Insert(columns, 1, "decision_id")
	}
	listed := l.Sets() || l.K() <= mostListed || o.All
	if listed {
		columns = append(columns, "probabilities")
	}
	write := func(path string, write func(f *os.File) error) error { return wholefile.Write(path, 0, write) }
	if o.New {
		write = wholefile.WriteNew
	}
	return columns, write(path, func(f *os.File) error {
		out := bufio.NewWriterSize(f, 1<<20)
		w := to(out, columns)
		if err := writeScores(ctx, w.row, plays, l, listed, o.Threads); err != nil {
			return err
		}
		return errors.Join(w.end(), out.Flush())
	})
}

// score is a row; without an id, or a list, these are empty.
type score struct {
	row           int
	id, action    string
	probability   float64
	probabilities []float64
}

// writeScores computes rows by blocks on threads, and writes them in their order.
func writeScores(ctx context.Context, write func(score) error, plays func() certify.Policy, l *logs.Log,
	listed bool, threads int) error {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	most := l.MostOptions()
	block := max(1, min(1<<12, (1<<20)/max(1, most)))
	logged, all := make([]float64, block), []float64(nil)
	if listed {
		all = make([]float64, block*most)
	}
	var d logs.Decision
	for from := 0; from < l.Len(); from += block {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(block, l.Len()-from)
		row := func(i int) int { return from + i }
		if err := provenance.Each(plays, l, n, row, threads, func(i int, pi []float64) {
			if logged[i] = pi[l.Chosen(from+i)]; listed {
				copy(all[i*most:], pi)
			}
		}); err != nil {
			return err
		}
		for i := range n {
			l.Decision(from+i, &d)
			s := score{row: d.Row, id: d.ID, action: l.Actions[l.Action[from+i]], probability: logged[i]}
			if listed {
				s.probabilities = all[i*most:][:l.Options(from+i)]
			}
			if err := write(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// readable is the log with the policy's actions, or why the policy cannot play in it.
func readable(p *policyfile.Policy, l *logs.Log) (*logs.Log, error) {
	if l.Names() == nil && len(p.Inputs().Names) > 0 {
		return nil, errors.New("the log has no named values, which a policy file reads")
	}
	if err := provenance.Fits(p.File(), l); err != nil {
		return nil, err
	}
	if _, err := l.Known(p.Inputs()); err != nil {
		return nil, err
	}
	switch absent, err := provenance.Reads(p.File(), l); {
	case err != nil:
		return nil, err
	case absent != "":
		return nil, errors.New(absent)
	}
	if p.HasItems() {
		return l, nil
	}
	return l.WithActions(p.Actions())
}

// scoreWriter writes rows, and then the end.
type scoreWriter struct {
	row func(s score) error
	end func() error
}

var scoreWriters = map[string]func(to *bufio.Writer, columns []string) scoreWriter{".parquet": scoreParquet,
	".csv": scoreCSV, ".jsonl": scoreJSON}

func scoreParquet(to *bufio.Writer, columns []string) scoreWriter {
	kinds := map[string]parquet.Node{"row": parquet.Int(64), "decision_id": parquet.String(),
		"logged_action": parquet.String(),
		"probability":   parquet.Leaf(parquet.DoubleType),
		"probabilities": parquet.List(parquet.Leaf(parquet.DoubleType))}
	g := parquet.Group{}
	for _, name := range columns {
		g[name] = kinds[name]
	}
	schema := parquet.NewSchema("scores", g)
	var order []string
	for _, path := range schema.Columns() {
		order = append(order, path[0])
	}
	w := parquet.NewGenericWriter[any](to, schema, parquet.Compression(&parquet.Snappy),
		parquet.MaxRowsPerRowGroup(1<<16))
	var cells parquet.Row
	return scoreWriter{func(s score) error {
		cells = cells[:0]
		for i, name := range order {
			var v parquet.Value
			switch name {
			case "row":
				v = parquet.Int64Value(int64(s.row))
			case "decision_id":
				v = parquet.ByteArrayValue([]byte(s.id))
			case "logged_action":
				v = parquet.ByteArrayValue([]byte(s.action))
			case "probability":
				v = parquet.DoubleValue(s.probability)
			default:
				for j, p := range s.probabilities {
					cells = append(cells, parquet.DoubleValue(p).Level(min(j, 1), 1, i))
				}
				continue
			}
			cells = append(cells, v.Level(0, 0, i))
		}
		_, err := w.WriteRows([]parquet.Row{cells})
		return err
	}, w.Close}
}

func scoreCSV(to *bufio.Writer, columns []string) scoreWriter {
	w := csv.NewWriter(to)
	begin := w.Write(columns)
	var cells []string
	var list []byte
	return scoreWriter{func(s score) error {
		cells = append(cells[:0], strconv.Itoa(s.row))
		if columns[1] == "decision_id" {
			cells = append(cells, s.id)
		}
		cells = append(cells, s.action, strconv.FormatFloat(s.probability, 'g', -1, 64))
		if columns[len(columns)-1] == "probabilities" {
			list = appendList(list[:0], s.probabilities)
			cells = append(cells, string(list))
		}
		return cmp.Or(begin, w.Write(cells))
	}, func() error { w.Flush(); return w.Error() }}
}

func scoreJSON(to *bufio.Writer, columns []string) scoreWriter {
	var b []byte
	return scoreWriter{func(s score) error {
		var err error
		b = strconv.AppendInt(append(b[:0], `{"row":`...), int64(s.row), 10)
		if columns[1] == "decision_id" {
			if b, err = jsontext.AppendQuote(append(b, `,"decision_id":`...), s.id); err != nil {
				return fmt.Errorf("row %d, decision_id: %w", s.row, err)
			}
		}
		if b, err = jsontext.AppendQuote(append(b, `,"logged_action":`...), s.action); err != nil {
			return fmt.Errorf("row %d, action: %w", s.row, err)
		}
		b = strconv.AppendFloat(append(b, `,"probability":`...), s.probability, 'g', -1, 64)
		if columns[len(columns)-1] == "probabilities" {
			b = appendList(append(b, `,"probabilities":`...), s.probabilities)
		}
		_, err = to.Write(append(b, "}\n"...))
		return err
	}, func() error { return nil }}
}

// appendList appends numbers as JSON.
func appendList(b []byte, values []float64) []byte {
	b = append(b, '[')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, v, 'g', -1, 64)
	}
	return append(b, ']')
}
