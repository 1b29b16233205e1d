package logs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	compact "github.com/parquet-go/parquet-go/encoding/thrift"
	logical "github.com/parquet-go/parquet-go/format"
)

// Decimals are the numbers of CSV, whatever holds them, and UUIDs its texts. Times are texts where no time is wanted,
// whatever the unit: the number would mean something else in a file of another unit.
func TestReadParquet_DecimalsAndTimesAreThoseOfCSV(t *testing.T) {
	type row struct {
		ID     [9]byte  `parquet:"decision_id,decimal(0:20)"`
		Time   int64    `parquet:"timestamp,timestamp(millisecond)"`
		Group  int32    `parquet:"group,date"`
		Action string   `parquet:"action"`
		Reward int32    `parquet:"reward,decimal(2:9)"`
		P      int64    `parquet:"propensity,decimal(4:18)"`
		Wide   [16]byte `parquet:"x_wide,decimal(3:38)"`
		Since  int32    `parquet:"x_since,date"`
		Milli  int64    `parquet:"x_milli,timestamp(millisecond)"`
		Micro  int64    `parquet:"x_micro,timestamp(microsecond)"`
		Money  int64    `parquet:"cost_money,decimal(2:18)"`
		User   [16]byte `parquet:"x_user,uuid"`
	}
	var rows []row
	plain := "decision_id,timestamp,group,action,reward,propensity,x_wide,x_since,x_milli,x_micro,cost_money,x_user\n"
	for i := range int64(300) {
		at := time.UnixMilli(1767225600000 + 3600500*i).UTC()
		r := row{Time: at.UnixMilli(), Group: int32(at.Unix() / 86400), Action: fmt.Sprint("a", i%2),
			Reward: int32(i * 7 % 101), P: 5000, Since: int32(20000 - i), Milli: at.UnixMilli(), Micro: at.UnixMicro(),
			Money: 250 * i}
		binary.BigEndian.PutUint64(r.ID[1:], uint64(1<<62+i))
		wide := 1500*i - 200001
		for j := range r.Wide {
			r.Wide[15-j] = byte(wide >> min(63, 8*j)) // the two's complement
		}
		r.User[0], r.User[15] = byte(i), 0xab
		rows = append(rows, r)
		date := func(days int32) string { return time.Unix(86400*int64(days), 0).UTC().Format(time.DateOnly) }
		when := at.Format(time.RFC3339Nano)
		plain += fmt.Sprintf("%d,%s,%s,%s,%g,0.5,%g,%s,%s,%s,%g,%02x000000-0000-0000-0000-0000000000ab\n", 1<<62+i, when,
			date(r.Group), r.Action, float64(r.Reward)/100, float64(wide)/1000, date(r.Since), when, when,
			2.5*float64(i), byte(i))
	}
	path := filepath.Join(t.TempDir(), "l.parquet")
	parquetOf(t, path, rows)
	got, want := mustOpen(t, path, Options{}), mustOpen(t, write(t, "l.csv", plain), Options{})
	of := func(l *Log) string { return fmt.Sprint(l.Len(), l.Hash(), l.Cost, l.Outcomes[0].Values, l.Doubts) }
	if of(got) != of(want) {
		t.Errorf("%d rows %s, doubts %q\nwant %s, doubts %q", got.Len(), got.Hash(), got.Doubts, want.Hash(), want.Doubts)
	}
	if !strings.Contains(strings.Join(got.Doubts, "\n"), "x_micro: its values are days or times") {
		t.Errorf("%q", got.Doubts)
	}

	// Rows that are no log's.
	r, err := OpenRows(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i := range 300 {
		if !r.Next() {
			t.Fatal(r.Err())
		}
		id, err := r.Text("decision_id")
		reward, err2 := r.Reward("reward")
		since, err3 := r.Time("x_since")
		if err != nil || err2 != nil || err3 != nil || id != fmt.Sprint(1<<62+i) || reward != float64(rows[i].Reward)/100 ||
			since.Unix() != 86400*int64(rows[i].Since) {
			t.Fatal(i, id, reward, since, err, err2, err3)
		}
	}
}

// A group of no rows, as writers make of a batch without any, is read over.
func TestReadParquet_AGroupOfNoRowsIsNoDamage(t *testing.T) {
	type row struct {
		Action int64    `parquet:"action"`
		Reward bool     `parquet:"reward"`
		P      float64  `parquet:"propensity"`
		X      *float64 `parquet:"x_0,optional"`
		City   string   `parquet:"x_city,dict"`
	}
	var b bytes.Buffer
	if err := parquet.Write(&b, []row{{0, true, .5, new(1.5), "Oslo"}, {1, false, .5, nil, "Rome"}}); err != nil {
		t.Fatal(err)
	}
	text := b.Bytes()
	f, err := parquet.OpenFile(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	meta := f.Metadata()
	empty := meta.RowGroups[0]
	empty.NumRows, empty.TotalByteSize, empty.Columns = 0, 0, nil
	for _, c := range meta.RowGroups[0].Columns {
		c.MetaData.NumValues, c.MetaData.TotalCompressedSize, c.MetaData.TotalUncompressedSize = 0, 0, 0
		empty.Columns = append(empty.Columns, c)
	}
	meta.RowGroups = []logical.RowGroup{empty, meta.RowGroups[0], empty}
	footer, err := compact.Marshal(&compact.CompactProtocol{}, meta)
	if err != nil {
		t.Fatal(err)
	}
	text = text[:len(text)-8-int(binary.LittleEndian.Uint32(text[len(text)-8:]))]
	text = append(binary.LittleEndian.AppendUint32(append(text, footer...), uint32(len(footer))), "PAR1"...)
	if l := mustOpen(t, write(t, "l.parquet", string(text)), Options{}); l.Len() != 2 {
		t.Errorf("%d rows", l.Len())
	}
	r, err := OpenRows(write(t, "r.parquet", string(text)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, want := range []float64{1, 0} { // of true and false, as in a log
		if !r.Next() {
			t.Fatal(r.Err())
		}
		if reward, err := r.Reward("reward"); err != nil || reward != want {
			t.Error(reward, err)
		}
	}
	if r.Next() {
		t.Error("a third row")
	}
}
