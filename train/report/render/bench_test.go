package render_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"opl/train/bench"
	"opl/train/dataset"
	"opl/train/ope"
	"opl/train/report/render"
	"opl/train/report/table"
)

func TestBench_NamesBiasedAndLeftOutEstimatorsInEveryFormat(t *testing.T) {
	data, err := dataset.Open("mnist", filepath.Join("..", "..", "..", "testdata", "mnist"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := bench.Run(context.Background(), data, bench.Options{Seeds: 5, Rows: []int{60, 120}, Estimators: append(ope.Default(ope.Estimators(), false), ope.DM(), ope.Balanced())})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []table.Format{table.Text, table.Markdown, table.CSV, table.LaTeX} {
		var b bytes.Buffer
		if err := render.Bench(&b, f, r); err != nil || !strings.Contains(b.String(), "sndr") {
			t.Errorf("%s: %v: %s", f, err, b.String())
		}
		if f == table.Text && (!strings.Contains(b.String(), "\ndm: biased") || !strings.Contains(b.String(), "left out: balanced")) {
			t.Error(b.String())
		}
	}
	if text, err := json.Marshal(r); err != nil || !bytes.Contains(text, []byte("sndr")) {
		t.Errorf("%v: %s", err, text)
	}
	for _, f := range []string{"png", "svg", "pdf"} {
		var b bytes.Buffer
		if err := render.Plot(&b, f, render.BenchFigure(r)); err != nil || b.Len() < 1000 {
			t.Errorf("%s: %v, %d bytes", f, err, b.Len())
		}
	}
	if key := fmt.Sprint(render.BenchFigure(r).Legends); !strings.Contains(key, "open: biased") {
		t.Errorf("open marks are not explained: %s", key)
	}
	if render.Bench(&bytes.Buffer{}, "x", r) == nil || render.Plot(&bytes.Buffer{}, "gif", render.BenchFigure(r)) == nil {
		t.Error("unknown formats are taken")
	}
	if err := render.Plot(&bytes.Buffer{}, "svg", render.BenchFigure(bench.Result{Cells: []bench.Cell{{}}})); err == nil {
		t.Error("a figure of nothing is drawn")
	}
}
