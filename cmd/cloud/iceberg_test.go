package cloud_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog/hadoop"
	"github.com/apache/iceberg-go/table"

	"opl/cmd/cli"
	"opl/cmd/cloud"
	"opl/train/library"
)

// rowsOf are 300 rows for a table, from a number on.
func rowsOf(t *testing.T, schema *arrow.Schema, from int) (arrow.Table, string) {
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	lines := ""
	for i := from; i < from+300; i++ {
		id, x, action, reward := string(rune('a'+i%26))+strings.Repeat("z", i/26), float64(i*i%97)/50-1, "left", 0.
		if i%2 == 1 {
			action = "right"
		}
		if i%3 == 0 || action == "right" && x > 0 {
			reward = 1
		}
		b.Field(0).(*array.StringBuilder).Append(id)
		b.Field(1).(*array.StringBuilder).Append(action)
		at := time.Date(2026, 1, 2, 0, i, 0, 0, time.UTC).Format(time.RFC3339)
		b.Field(2).(*array.StringBuilder).Append(at)
		for j, v := range []float64{reward, .5, x} {
			b.Field(3 + j).(*array.Float64Builder).Append(v)
		}
		line, err := json.Marshal(map[string]any{"decision_id": id, "action": action, "timestamp": at, "reward": reward, "propensity": .5, "x_a": x})
		if err != nil {
			t.Fatal(err)
		}
		lines += string(line) + "\n"
	}
	return array.NewTableFromRecords(schema, []arrow.RecordBatch{b.NewRecordBatch()}), lines
}

// A table is the log of its rows. What is learned names its snapshot, which stays readable when the table goes on; a
// certificate of the table later says another one.
func TestIceberg_IsALogOfASnapshot(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	warehouse := filepath.Join(dir, "warehouse")
	of, err := hadoop.NewCatalog("test", warehouse, iceberg.Properties{})
	if err != nil {
		t.Fatal(err)
	}
	if err := of.CreateNamespace(ctx, table.Identifier{"db"}, nil); err != nil {
		t.Fatal(err)
	}
	var fields []iceberg.NestedField
	var columns []arrow.Field
	for i, name := range []string{"decision_id", "action", "timestamp", "reward", "propensity", "x_a"} {
		f, c := iceberg.NestedField{ID: i + 1, Name: name, Type: iceberg.PrimitiveTypes.Float64}, arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Float64}
		if i < 3 {
			f.Type, c.Type = iceberg.PrimitiveTypes.String, arrow.BinaryTypes.String
		}
		c.Nullable = true
		fields, columns = append(fields, f), append(columns, c)
	}
	tab, err := of.CreateTable(ctx, table.Identifier{"db", "decisions"}, iceberg.NewSchema(0, fields...))
	if err != nil {
		t.Fatal(err)
	}
	url := func(key string) string { return "iceberg://db/" + key + "?type=hadoop&warehouse=" + warehouse }
	opl := func(want int, args ...string) (string, string) {
		t.Helper()
		lib := library.Standard()
		lib.Bucket, lib.Unpack = cloud.Open, cloud.Unpack
		var out, errs bytes.Buffer
		if got := cli.Run(lib, args, &out, &errs); got != want {
			t.Fatalf("%v: exit status %d, want %d: %s%s", args, got, want, out.String(), errs.String())
		}
		return out.String(), errs.String()
	}
	if _, errs := opl(1, "inspect", url("decisions")); !strings.Contains(errs, "decisions has no snapshot") {
		t.Error(errs)
	}
	write := func(from int) (lines string, id string) {
		rows, lines := rowsOf(t, arrow.NewSchema(columns, nil), from)
		if tab, err = tab.AppendTable(ctx, rows, 100, nil); err != nil {
			t.Fatal(err)
		}
		return lines, fmt.Sprint(tab.CurrentSnapshot().SnapshotID)
	}
	inspected := func(name string) string { // of rows, but for which snapshot they are
		out, _ := opl(3, "inspect", name, "--no-cache", "--format", "json")
		_, counted, _ := strings.Cut(out, `"rows": `)
		return regexp.MustCompile(`(?s)\{\s*"check": "reading".*?\},\s*`).ReplaceAllString(counted, "")
	}
	lines, first := write(0)
	path := filepath.Join(dir, "log.jsonl")
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	before := inspected(url("decisions"))
	if want := inspected(path); before != want {
		t.Errorf("inspect says of the table %s\nof its rows %s", before, want)
	}
	policy := filepath.Join(dir, "policy.json")
	opl(0, "train", url("decisions"), "--out", policy, "--no-cache", "--epochs", "1")
	_, second := write(300)
	out, errs := opl(3, "certify", policy, url("decisions"), "--no-cache")
	known, err := os.ReadFile(policy)
	if err != nil || !strings.Contains(string(known), `"snapshots":["iceberg://db/decisions/`+first+`.arrow"]`) ||
		!strings.Contains(out, "not the one that the policy was learned from, but 300 of its decisions are") ||
		!strings.Contains(out, "snapshot iceberg://db/decisions/"+second+".arrow") {
		t.Errorf("%v: of snapshots %s, %s: %s%s", err, first, second, out, errs)
	}
	if got := inspected(url("decisions/" + first + ".arrow")); got != before {
		t.Errorf("the first snapshot is %s\nwas %s", got, before)
	}
	bucket, err := cloud.Open(ctx, url(""))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := bucket.Read(ctx, "decisions")
	if err != nil {
		t.Fatal(err)
	}
	batches, err := ipc.NewReader(stream)
	if err != nil || !batches.Next() {
		t.Fatal(err)
	}
	if id := batches.RecordBatch().Column(0).(array.StringLike).Value(0); id != "a" {
		t.Errorf("the first decision is %s, not that which was written first", id)
	}
	// a column is renamed, and nothing written
	txn := tab.NewTransaction()
	if err := txn.UpdateSchema(true, false).RenameColumn([]string{"x_a"}, "x_b").Commit(); err != nil {
		t.Fatal(err)
	}
	if tab, err = txn.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if _, errs := opl(1, "certify", policy, url("decisions"), "--no-cache"); !strings.Contains(errs, "x_b") {
		t.Errorf("a column that was renamed: %s", errs)
	}
	inspected(url("decisions"))
	inspected(url(fmt.Sprintf("decisions/%s-%d.arrow", second, tab.Schema().ID)))
	if out, _ := opl(3, "certify", policy, url("decisions/"+second+".arrow"), "--no-cache"); !strings.Contains(out, second) {
		t.Error(out)
	}
	for key, want := range map[string]string{"decisions/17.arrow": "no snapshot 17", "other": "other", "*": "want one table"} {
		if _, errs := opl(1, "inspect", url(key)); !strings.Contains(errs, want) {
			t.Errorf("%s: %s", key, errs)
		}
	}
}
