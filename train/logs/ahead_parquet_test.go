package logs

import (
	"context"
	csvlib "encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
)

// Numbers of every type and unit, missing ones, such as no float64 is, and the one that stands for a missing one are
// read as the same numbers of a CSV file are, and are the same whatever the number of goroutines.
func TestReadAhead_OfParquetEqualsCSV(t *testing.T) {
	type micros struct {
		Action int64    `parquet:"action"`
		Reward int32    `parquet:"reward"`
		P      *float32 `parquet:"propensity,optional"`
		Time   int64    `parquet:"timestamp,timestamp(microsecond)"`
		Weight *float64 `parquet:"weight,optional"`
		X      float64  `parquet:"x_0"`
	}
	type nanos struct {
		Action int32    `parquet:"action,dict"`
		Cost   *float64 `parquet:"cost,optional"`
		P      float64  `parquet:"propensity,dict"`
		Time   *int64   `parquet:"timestamp,timestamp(nanosecond),optional,dict"`
		X      int64    `parquet:"x_0"`
		Row    float64  `parquet:"p_0"`
		Other  float64  `parquet:"p_1"`
	}
	type seconds struct {
		Action int32   `parquet:"action"`
		Reward bool    `parquet:"reward"`
		P      float32 `parquet:"propensity"`
		Time   int64   `parquet:"timestamp"`
		X      float32 `parquet:"x_0"`
	}
	r := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct{ missing, wrong float64 }{{0, 0}, {0.02, 0}, {0.01, 0.003}} { // a block with a wrong number is read by values
		odd, there := func() bool { return r.Float64() < c.wrong }, func() bool { return r.Float64() >= c.missing }
		long := func(v int64) int64 {
			if odd() {
				return []int64{-3, 1 << 60, 1<<53 + 1, math.MaxInt64, math.MinInt64, int64(math.Float64bits(absent))}[r.IntN(6)]
			}
			return v
		}
		double := func(v float64) float64 {
			if odd() {
				return []float64{math.NaN(), absent, math.Inf(1), 7, -1, 0}[r.IntN(6)]
			}
			return v
		}
		var all [3]func(path string)
		var plain [][]string // the rows as CSV
		cell := func(v any) string {
			switch v := v.(type) {
			case *float32:
				if v != nil {
					return strconv.FormatFloat(float64(*v), 'g', -1, 64)
				}
			case *float64:
				if v != nil {
					return strconv.FormatFloat(*v, 'g', -1, 64)
				}
			case float32:
				return strconv.FormatFloat(float64(v), 'g', -1, 64)
			case time.Time:
				return v.UTC().Format(time.RFC3339Nano)
			default:
				return fmt.Sprint(v)
			}
			return ""
		}
		row := func(values ...any) {
			var cells []string
			for _, v := range values {
				cells = append(cells, cell(v))
			}
			plain = append(plain, cells)
		}
		all[0] = func(path string) {
			var rows []micros
			for i := range 200 {
				v := micros{long(int64(i % 2)), int32(long(int64(r.IntN(2)))), nil, long(1767225600000000 + int64(i)), nil, double(r.NormFloat64())}
				if p := float32(double(0.25)); there() || i == 0 {
					v.P = &p
				}
				if w := double(1); there() || i == 0 {
					v.Weight = &w
				}
				rows = append(rows, v)
				row(v.Action, v.Reward, v.P, time.UnixMicro(v.Time), v.Weight, v.X)
			}
			parquetOf(t, path, rows)
		}
		all[1] = func(path string) {
			var rows []nanos
			for i := range 200 {
				v := nanos{int32(long(int64(i % 2))), nil, 0.5, nil, long(int64(r.IntN(9))), double(0.5), 0.5}
				if c := double(-float64(r.IntN(2))); there() || i == 0 {
					v.Cost = &c
				}
				at := long(1767225600123456789 + int64(i%7))
				when := any(time.Unix(0, at))
				if v.Time = &at; !there() && i > 0 {
					v.Time, when = nil, ""
				}
				rows = append(rows, v)
				row(v.Action, v.Cost, v.P, when, v.X, v.Row, v.Other)
			}
			parquetOf(t, path, rows)
		}
		all[2] = func(path string) {
			var rows []seconds
			for i := range 200 {
				v := seconds{int32(long(int64(i % 3))), r.IntN(2) > 0, float32(double(0.5)), long(1767225600 + int64(i)), float32(double(r.NormFloat64()))}
				rows = append(rows, v)
				row(v.Action, v.Reward, v.P, v.Time, v.X)
			}
			parquetOf(t, path, rows)
		}
		for kind, write := range all {
			t.Run(fmt.Sprint(c, kind), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "log.parquet")
				plain = [][]string{strings.Split([]string{"action,reward,propensity,timestamp,weight,x_0",
					"action,cost,propensity,timestamp,x_0,p_0,p_1", "action,reward,propensity,timestamp,x_0"}[kind], ",")}
				write(path)
				sameRows(t, path, plain)
				everyWay(t, path, Options{})
				everyWay(t, path, Options{BadRows: "bad"})
				if kind == 0 {
					everyWay(t, path, Options{Estimate: true, BadRows: "bad"})
				}
			})
		}
	}
}

// sameRows reads a file, and CSV: the rows are the same, and so are the places of those that are bad.
func sameRows(t *testing.T, path string, plain [][]string) {
	t.Helper()
	var text strings.Builder
	if err := csvlib.NewWriter(&text).WriteAll(plain); err != nil {
		t.Fatal(err)
	}
	var said [2]string
	for i, path := range []string{path, write(t, "plain.csv", text.String())} {
		bad := filepath.Join(t.TempDir(), "bad")
		l, err := Open(context.Background(), path, Options{BadRows: bad})
		if err != nil {
			t.Fatal(err)
		}
		said[i] = fmt.Sprint(l.Len(), " ", l.Hash())
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		lines, err := os.ReadFile(bad)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(lines)) {
			row, _, _ := strings.Cut(line, ",")
			said[i] += row
		}
	}
	if said[0] != said[1] {
		t.Errorf("Parquet %s, CSV %s", said[0], said[1])
	}
}

// parquetOf writes rows in two groups.
func parquetOf[T any](t *testing.T, path string, rows []T) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := parquet.NewGenericWriter[T](f, parquet.PageBufferSize(300))
	for g := range 2 {
		if _, err := w.Write(rows[g*len(rows)/2 : (g+1)*len(rows)/2]); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
