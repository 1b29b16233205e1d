package logs

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// resident is the most memory that this process has had, in bytes; 0: not known.
func resident() int {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, b, _ = bytes.Cut(b, []byte("VmHWM:"))
	kb, _ := strconv.Atoi(string(bytes.Fields(b)[0]))
	return kb << 10
}

// writeAs writes n rows of a world in any format.
func writeAs(t testing.TB, path, format string, w *world, n int) {
	t.Helper()
	var d Decision
	name, _ := packing("log." + format)
	if f, _ := formatOf(name); f.write != nil {
		out, err := Create(path, WriterOptions{Actions: w.actions, Names: w.names})
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			w.next(&d)
			if err := out.Write(&d); err != nil {
				t.Fatal(err)
			}
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		return
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewWriter(f)
	row, ok := rowWriters[format]
	if !ok {
		t.Fatalf("format %s is not written: rowWriters wants a function for it", format)
	}
	for range n {
		w.next(&d)
		row(out, &d)
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// rowWriters write rows of the formats that Create does not write.
var rowWriters = map[string]func(out io.Writer, d *Decision){
	"vw": func(out io.Writer, d *Decision) {
		for a := range d.Propensities {
			if a != d.Action {
				fmt.Fprint(out, a+1, " ")
			}
		}
		fmt.Fprintf(out, "%d:%v:%v '%s|", d.Action+1, d.Cost, d.Propensity, d.ID)
		for _, v := range d.Context {
			fmt.Fprintf(out, " %s:%v", v.Name, v.Number)
		}
		fmt.Fprintln(out)
	},
	"dsjson": func(out io.Writer, d *Decision) {
		fmt.Fprintf(out, `{"_label_cost":%v,"_label_probability":%v,"_label_Action":%d,"_labelIndex":%d,"EventId":%q,"Timestamp":%q,"a":[%d`,
			d.Cost, d.Propensity, d.Action+1, d.Action, d.ID, d.Time.Format(time.RFC3339Nano), d.Action+1)
		for a := range d.Propensities {
			if a != d.Action {
				fmt.Fprintf(out, ",%d", a+1)
			}
		}
		fmt.Fprintf(out, `],"p":[%v`, d.Propensity)
		for a, p := range d.Propensities {
			if a != d.Action {
				fmt.Fprintf(out, ",%v", p)
			}
		}
		fmt.Fprint(out, `],"c":{`)
		for _, v := range d.Context {
			fmt.Fprintf(out, `"%s":%v,`, v.Name, v.Number)
		}
		fmt.Fprint(out, `"_multi":[`)
		for a := range d.Propensities {
			if a > 0 {
				fmt.Fprint(out, ",")
			}
			fmt.Fprintf(out, `{"id":"%02d"}`, a)
		}
		fmt.Fprintln(out, "]}}")
	},
}

// The same rows in every format, of 50 features and 20 actions: read, read again from the
// cache, encoded. A quick check that all formats agree; with OPL_LONG=1 a million rows,
// with memory and time (run one format in a process for its own peak).
func TestFormats_GiveTheSameRows(t *testing.T) {
	n := 2000
	long := os.Getenv("OPL_LONG") != ""
	if long {
		n = 1_000_000
		if v, err := strconv.Atoi(os.Getenv("OPL_ROWS")); err == nil {
			n = v
		}
	}
	var endings []string
	for _, f := range formats {
		endings = append(endings, f.endings...)
		if f.write != nil && !f.whole {
			for _, p := range packings {
				endings = append(endings, f.endings[0]+"."+p)
			}
		}
	}
	for _, format := range endings {
		t.Run(format, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log."+format)
			writeAs(t, path, format, newWorld(50, 20, 3), n)
			runtime.GC()
			before := resident()
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			l := mustOpen(t, path, Options{})
			read := time.Since(start)
			start = time.Now()
			again, err := Open(context.Background(), path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			found := time.Since(start)
			if err := again.Close(); err != nil {
				t.Fatal(err)
			}
			start = time.Now()
			e, err := l.FitEncoder(nil, Scaling{Intercept: true, Unit: true})
			if err != nil {
				t.Fatal(err)
			}
			fit := time.Since(start)
			start = time.Now()
			b, err := l.Encode(e)
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Check(); err != nil {
				t.Fatal(err)
			}
			check := time.Since(start)
			// Rows as they were drawn.
			w := newWorld(50, 20, 3)
			var want, got Decision
			x, y := make([]float64, e.Dim()), make([]float64, e.Dim())
			for i := range min(n, 5000) {
				w.next(&want)
				l.Decision(i, &got)
				if got.ID != want.ID || got.Action != want.Action || got.Cost != want.Cost || got.Propensity != want.Propensity {
					t.Fatalf("row %d: %+v, want %+v", i, got, want)
				}
				if _, err := e.Encode(x, want.Context); err != nil {
					t.Fatal(err)
				}
				b.X.Row64(i, y)
				for j := range x {
					if e.Names != nil && x[j] != y[j] {
						t.Fatalf("row %d: feature %d is %v, want %v", i, j, y[j], x[j])
					}
				}
			}
			if long {
				t.Logf("%-8s %d rows, %d MB: %.0f rows/s; again %.2f s, fit %.2f s, check %.2f s; peak %d MB (%d before)",
					format, l.Len(), info.Size()>>20, float64(n)/read.Seconds(), found.Seconds(), fit.Seconds(), check.Seconds(), resident()>>20, before>>20)
			}
		})
	}
}
