package logs

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	compact "github.com/parquet-go/parquet-go/encoding/thrift"
	logical "github.com/parquet-go/parquet-go/format"
)

// Lists in columns by slot are those of JSON Lines, also where the first lists are the shortest, columns stand in another
// order, and their names are the file's own.
func TestSlotColumns_EqualWholeLists(t *testing.T) {
	type line struct {
		X  float64  `parquet:"x_a"`
		A  *string  `parquet:"slot_1"`
		B  *string  `parquet:"slot_2"`
		C  *string  `parquet:"slot_3"`
		P1 *float32 `parquet:"slot_propensity_1"`
		P2 *float32 `parquet:"slot_propensity_2"`
		P3 *float32 `parquet:"slot_propensity_3"`
		R1 *bool    `parquet:"slot_reward_1"`
		R2 *bool    `parquet:"slot_reward_2"`
		R3 *bool    `parquet:"slot_reward_3"`
	}
	var whole, csv strings.Builder
	var all []line
	csv.WriteString("worth_3,slot_reward_2,slot_reward_1,x_a,slot_1,slot_2,slot_3,slot_propensity_1,slot_propensity_2,slot_propensity_3\n")
	for i := range 500 {
		slots := [][]string{{"b"}, {"a", "c"}, {"c", "b", "a"}}[i%3]
		l := line{X: 2 + float64(i)/8}
		words, ps, rewards := make([]string, 3), make([]string, 3), make([]string, 3)
		for j, s := range slots {
			p, r := float32(1)/float32(int(2)<<j), (i+j)%2 == 1
			words[j], ps[j], rewards[j] = s, fmt.Sprint(p), []string{"False", "True"}[(i+j)%2]
			*[]**string{&l.A, &l.B, &l.C}[j], *[]**float32{&l.P1, &l.P2, &l.P3}[j], *[]**bool{&l.R1, &l.R2, &l.R3}[j] = &s, &p, &r
		}
		all = append(all, l)
		n := len(slots)
		fmt.Fprintf(&whole, `{"x_a":%v,"slots":["%s"],"slot_propensities":[%s],"slot_rewards":[%s]}`+"\n", l.X,
			strings.Join(slots, `","`), strings.Join(ps[:n], ","), strings.ToLower(strings.Join(rewards[:n], ",")))
		fmt.Fprintf(&csv, "%s,%s,%s,%v,%s,%s\n", rewards[2], rewards[1], rewards[0], l.X, strings.Join(words, ","), strings.Join(ps, ","))
	}
	dir := t.TempDir()
	rewrite(t, filepath.Join(dir, "l.jsonl"), whole.String())
	rewrite(t, filepath.Join(dir, "l.csv"), csv.String())
	if err := parquet.WriteFile(filepath.Join(dir, "l.parquet"), all); err != nil {
		t.Fatal(err)
	}
	open := func(name string, columns map[string]string) *Log {
		log, err := Open(context.Background(), filepath.Join(dir, name), Options{NoCache: true, Actions: []string{"a", "b", "c"}, Columns: columns})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { log.Close() })
		return log
	}
	plain := open("l.jsonl", nil)
	if err := os.Mkdir(filepath.Join(dir, "both"), 0o755); err != nil {
		t.Fatal(err)
	}
	rewrite(t, filepath.Join(dir, "both", "1.jsonl"), whole.String())
	rewrite(t, filepath.Join(dir, "both", "2.csv"), csv.String())
	if both := open("both", map[string]string{"slot_reward_3": "worth_3"}); both.Len() != 2*plain.Len() {
		t.Errorf("%d rows of two files, want twice %d", both.Len(), plain.Len())
	}
	for name, columns := range map[string]map[string]string{"l.csv": {"slot_reward_3": "worth_3"}, "l.parquet": nil} {
		log := open(name, columns)
		if got, want := told(log), told(plain); !slices.Equal(got, want) || log.Hash() != plain.Hash() {
			t.Errorf("%s: %.300s\nwant\n%.300s", name, got, want)
		}
	}
}

// A list that lacks a cell, or has one too many, is an error with the column's name.
func TestSlotColumns_RefuseGapsAndContradictions(t *testing.T) {
	const columns = "x_a,offered,slot_1,slot_2,slot_propensity_1,slot_propensity_2,slot_reward_1,slot_reward_2\n"
	of := func(cells string) string {
		return columns + `1,"[""a"",""b,c""]",a,"b,c",.3,.5,0,1` + "\n" + `1,"[""a"",""b,c""]",` + cells + "\n"
	}
	for _, c := range []struct{ text, want string }{
		{of(",a,.3,.5,0,1"), "row 2, column slot_1: empty, and slot 2 is not"},
		{of(",,,,,"), "row 2, column slot_1: no action was shown"},
		{of("a,,.3,,,"), "row 2, column slot_reward_1: empty, and slot 1 shows an action"},
		{of("a,,.3,,0,1"), "row 2, column slot_reward_2: given, and slot 2 shows no action"},
		{of("a,,.3,.5,0,"), "row 2, column slot_propensity_2: given, and slot 2 shows no action"},
		{of("a,\"b,c\",,.5,0,1"), "row 2, column slot_propensity_1: empty, and slot 1 shows an action"},
		{of("a,a,.3,.5,0,1"), `row 2, column slot_2: "a" is shown twice`},
		{of("a,NA,.3,.5,0,1"), `row 2, column slot_2: "NA" was not offered`},
		{of("a,\"b,c\",.3,1.5,0,1"), "row 2, column slot_propensity_2: 1.5 of slot 2 is outside (0, 1]"},
		{of("a,\"b,c\",.3,.5,0,2"), "row 2, column slot_reward_2: reward 2 is outside [0, 1]"},
		{of("a,\"b,c\",.3,.5,0,nan"), "row 2, column slot_reward_2: NaN is not finite"},
		{of("a,\"b,c\",.3,.5,no,1"), `row 2, column slot_reward_1: "no" is not a number: setting reward-map`},
		{"slot_1,slot_1,reward\na,b,1\n", `header: column "slot_1" twice`},
		{"slot_0,slot_1,reward\na,b,1\n", "columns slot_N are 2, and none is slot_2: want them counted from 1"},
		{"slot_01,slot_2,reward\na,b,1\n", "none is slot_1"},
		{"slot_1,slot_3,reward\na,b,1\n", "none is slot_2"},
		{"slot_99999999999999999999,reward\na,1\n", "none is slot_1"},
		{"slot_1,slot_2,slot_propensity_1,reward\na,b,1,1\n", "columns slot_propensity_N are 1, and slot_N 2"},
		{"slot_1,slot_reward_1,slot_reward_2\na,1,1\n", "columns slot_reward_N are 2, and slot_N 1"},
		{"slots,slot_1,reward\n[],a,1\n", "columns slots and slot_N"},
		{"slot_,reward\n[],1\n", "no column action"},
		{"slot_propensities,slot_1,reward\n[],a,1\n", "columns slot_propensities and slot_N"},
		{"slate_id,slot,action,slot_reward_1\ns,1,a,1\n", "columns slate_id and slot_reward_N"},
	} {
		if _, err := openSlates(t, "l.csv", c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
	}
}

// In a log of rows with an action, columns of such names are something else: they are not read, and are listed.
func TestSlotColumns_OfALogWithActionsAreNotRead(t *testing.T) {
	for name, text := range map[string]string{
		"l.csv":   "slot_1,slot_reward_1,action,reward\nx,none,a,1\ny,,b,0\n",
		"l.jsonl": `{"slot_1":{"z":[]},"slot_reward_1":"none","action":"a","reward":1}` + "\n" + `{"slot_1":2,"action":"b","reward":0}`,
	} {
		log, err := openSlates(t, name, text)
		if err != nil || log.Lists != nil || log.Len() != 2 || !strings.Contains(fmt.Sprint(log.Notes), "not read: slot_1, slot_reward_1") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Numbers of 16 bits, which the library has for texts of two bytes, would be names.
func TestParquet_RefusesNumbersOf16Bits(t *testing.T) {
	type line struct {
		Action string  `parquet:"action"`
		Reward float64 `parquet:"reward"`
		X      [2]byte `parquet:"x_a"`
	}
	var b bytes.Buffer
	if err := parquet.Write(&b, []line{{"a", 1, [2]byte{0, 0x34}}, {"b", 0, [2]byte{0, 0x38}}}); err != nil {
		t.Fatal(err)
	}
	text := b.Bytes()
	if _, err := openSlates(t, "l.parquet", string(text)); err != nil { // texts
		t.Fatal(err)
	}
	from := len(text) - 8 - int(binary.LittleEndian.Uint32(text[len(text)-8:]))
	var meta logical.FileMetaData
	if err := compact.Unmarshal(&compact.CompactProtocol{}, text[from:len(text)-8], &meta); err != nil {
		t.Fatal(err)
	}
	meta.Schema[3].LogicalType.Value = &logical.Float16Type{}
	footer, err := compact.Marshal(&compact.CompactProtocol{}, &meta)
	if err != nil {
		t.Fatal(err)
	}
	text = append(binary.LittleEndian.AppendUint32(append(text[:from:from], footer...), uint32(len(footer))), "PAR1"...)
	if _, err := openSlates(t, "l.parquet", string(text)); err == nil || !strings.Contains(err.Error(), "column x_a: numbers of 16 bits cannot be read") {
		t.Error(err)
	}
}
