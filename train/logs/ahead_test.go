package logs

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// withReaders calls do with so many goroutines that read ahead.
func withReaders(n int, do func()) {
	was := readers
	readers = n
	defer func() { readers = was }()
	do()
}

// everyWay opens a log with rows read one by one, and ahead by one goroutine and by three: the cache, the bad rows and
// the error are the same to the byte.
func everyWay(t *testing.T, path string, o Options) {
	t.Helper()
	var first [3]string
	for _, n := range []int{0, 1, 3} {
		var got [3]string
		withReaders(n, func() {
			o := o
			dir := t.TempDir()
			o.Cache = filepath.Join(dir, "cache")
			if o.BadRows != "" {
				o.BadRows = filepath.Join(dir, "bad")
			}
			l, err := Open(context.Background(), path, o)
			if err != nil {
				got[0] = strings.ReplaceAll(err.Error(), dir, "DIR")
			} else {
				cache, err := os.ReadFile(o.Cache)
				if err != nil {
					t.Fatal(err)
				}
				// The header holds the name of the file of bad rows.
				got[1] = strings.ReplaceAll(string(cache[16:len(cache)-8]), dir, strings.Repeat("D", 8))
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if bad, err := os.ReadFile(o.BadRows); err == nil {
				got[2] = string(bad)
			}
		})
		if n == 0 {
			first = got
			continue
		}
		for i, what := range []string{"error", "cache", "bad rows"} {
			if got[i] != first[i] {
				at := 0
				for at < min(len(got[i]), len(first[i])) && got[i][at] == first[i][at] {
					at++
				}
				t.Fatalf("%d readers: %s differs at %d of %d and %d: %.300q, one by one %.300q", n, what, at, len(got[i]), len(first[i]), got[i][max(0, at-50):], first[i][max(0, at-50):])
			}
		}
	}
}

// FuzzReadAhead reads whatever it is given in every way. An input that takes ten seconds of the clock, which a busy machine may make of a tenth, ends
// the worker with exit status 2 and no message: run one by itself to see whether it hangs.
func FuzzReadAhead(f *testing.F) {
	defer func(was int) { readAfter = was }(readAfter)
	readAfter = 1
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 8 {
		f.Add([]byte(messy(r, "csv", 4+i, 0.05)), uint8(0))
		f.Add([]byte(messy(r, "jsonl", 4+i, 0.05)), uint8(1))
		path := filepath.Join(f.TempDir(), "l.parquet")
		writeAs(f, path, "parquet", newWorld(2, 2, 1), 3)
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint8(2))
	}
	f.Add([]byte("action,reward,x_a\n1,1,2\n0,1,3\n1,0,\"4\n0,1,\"\n1,1,5\n"), uint8(0))
	f.Fuzz(func(t *testing.T, text []byte, kind uint8) {
		path := filepath.Join(t.TempDir(), "log."+[]string{"csv", "jsonl", "parquet"}[kind%3])
		rewrite(t, path, string(text))
		everyWay(t, path, Options{})
		everyWay(t, path, Options{BadRows: "bad"})
	})
}

// messy writes rows as a text, most of them as most are, some odd or wrong.
func messy(r *rand.Rand, format string, rows int, wrong float64) string {
	var text strings.Builder
	width := 1 + r.IntN(6)
	header := []string{"action", "reward", "propensity"}
	id, cat, list := r.IntN(2) == 0, r.IntN(3) == 0, r.IntN(3) == 0 && format == "jsonl"
	if id {
		header = append(header, "decision_id")
	}
	if cat {
		header = append(header, "x_cat")
	}
	if r.IntN(3) == 0 {
		header = append(header, "other")
	}
	nested := format == "jsonl" && !cat && r.IntN(2) == 0
	for j := range width {
		if !nested {
			header = append(header, fmt.Sprintf("x_%d", j))
		}
	}
	r.Shuffle(len(header), func(i, j int) { header[i], header[j] = header[j], header[i] })
	if nested {
		header = append(header, "context")
	}
	if list {
		header = append(header, "propensities")
	}
	number := func() string {
		switch r.IntN(8) {
		case 0:
			return strconv.Itoa(r.IntN(100) - 50)
		case 1:
			return strconv.FormatFloat(r.NormFloat64(), 'g', -1, 64)
		case 2:
			return strconv.FormatFloat(math.Ldexp(r.Float64(), r.IntN(300)-150), 'e', -1, 64)
		case 3:
			return "-0"
		}
		return strconv.FormatFloat(r.NormFloat64(), 'f', 3, 64)
	}
	end := []string{"\n", "\r\n"}[r.IntN(2)]
	if format == "csv" {
		text.WriteString(strings.Join(header, ",") + end)
	}
	asList := r.IntN(2) == 0
	for i := range rows {
		odd := func() bool { return r.Float64() < wrong }
		var cells []string
		for _, name := range header {
			cell := number()
			switch name {
			case "action":
				cell = strconv.Itoa(r.IntN(3))
			case "reward":
				cell = strconv.Itoa(r.IntN(2))
			case "propensity":
				cell = "0.25"
			case "decision_id", "x_cat", "other":
				cell = fmt.Sprintf("%c%d", "abc"[r.IntN(3)], map[string]int{"decision_id": i, "x_cat": r.IntN(5), "other": i}[name])
				if format == "jsonl" {
					cell = strconv.Quote(cell)
				}
			case "propensities":
				cell = "[0.25,0.25,0.5]"
			case "context":
				var all []string
				for j := range width {
					v := number()
					if !asList {
						v = fmt.Sprintf("%q: %s", fmt.Sprintf("n%d", j), v)
					}
					all = append(all, v)
				}
				cell = map[bool]string{true: "[", false: "{"}[asList] + strings.Join(all, ", ") + map[bool]string{true: "]", false: "}"}[asList]
			}
			if odd() {
				cell = []string{"", "null", "nan", "inf", "1e999", "x", `"q"`, `"a""b"`, "1.", ".5", "+1", "007", "1e5", " 1", `"a` + end + `b"`, `"`, "true", "[1]", "{}", "\x00", "\xff", "1,2", "-", "9007199254740993", "0.1000000000000000055511151231257827", `"\u0041"`}[r.IntN(26)]
			}
			if format == "jsonl" {
				cell = strconv.Quote(name) + []string{":", ": "}[i%2] + cell
			}
			cells = append(cells, cell)
		}
		if odd() {
			cells = cells[1:]
		}
		if odd() {
			cells[0], cells[len(cells)-1] = cells[len(cells)-1], cells[0]
		}
		line := strings.Join(cells, ",")
		if format == "jsonl" {
			line = "{" + line + "}"
		}
		if odd() {
			line = []string{"", " ", "\t", "{", line + line, line + " "}[r.IntN(6)]
		}
		if i < rows-1 || r.IntN(2) == 0 {
			line += end
		}
		text.WriteString(line)
	}
	return text.String()
}

// What comes out does not depend on whether rows are read ahead, nor by how many goroutines, odd rows and wrong ones included.
func TestReadAhead_ChangesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for i := range 12 {
		for _, format := range []string{"csv", "jsonl"} {
			path := filepath.Join(t.TempDir(), "log."+format)
			rewrite(t, path, messy(r, format, 50+r.IntN(400), []float64{0, 0, 0.001, 0.01}[i%4]))
			everyWay(t, path, Options{})
			everyWay(t, path, Options{BadRows: "bad"})
		}
	}
	for i := range 4 {
		for _, format := range []string{"csv", "jsonl", "parquet"} {
			path := filepath.Join(t.TempDir(), "log."+format)
			writeAs(t, path, format, newWorld(1+i%5, 2+i%3, uint64(i)), 80+i*300)
			everyWay(t, path, Options{})
			everyWay(t, path, Options{RewardMax: 0.5, BadRows: "bad"})
			everyWay(t, path, Options{Actions: []string{"0", "1"}, BadRows: "bad"})
			everyWay(t, path, Options{Categories: []string{"x_0"}})
		}
	}
}

// Lines that are long, or longer than a row may be, and blocks that end within a line.
func TestReadAhead_TakesLongLines(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("action,reward,propensity,other,x_a\n")
	for i := range 3000 {
		n := 10
		switch i {
		case 500, 501:
			n = blockBytes + 7
		case 2000:
			n = maxRow + 5
		}
		fmt.Fprintf(&b, "%d,1,0.5,%s,%d\n", i%2, strings.Repeat("y", n), i)
	}
	path := filepath.Join(t.TempDir(), "log.csv")
	rewrite(t, path, b.String())
	everyWay(t, path, Options{})
	everyWay(t, path, Options{BadRows: "bad"})
}

// FuzzDigits reads a number as strconv does, to the bit, or leaves it to it.
func FuzzDigits(f *testing.F) {
	for _, s := range []string{"0", "-0", "1.5", "123456789012345", "1234567890123456", "0.000000000000001", "-9.99", "1e5", "1E-5", "00", "01", ".5", "5.", "-", "--1", "1e", "1e+", "9007199254740993", "1.7976931348623159e308", "5e-324",
		"9007199254740993.0", "9007199254740993.1", "0.41722292841495284", "-12345678.12345678901", "1.2345678/", "1.234:5678", "9999999999999999999", "0.9999999999999999999", "0.00000000000000000001", "18014398509481985.5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, err := strconv.ParseFloat(s, 64)
		if v, end, ok := digits([]byte(s), 0); ok && end == len(s) && (err != nil || math.Float64bits(v) != math.Float64bits(want)) {
			t.Fatalf("%q: %v, want %v", s, v, want)
		}
		v, end, ok := jsonNumber([]byte(s), 0)
		if ok && end == len(s) && (err != nil || math.Float64bits(v) != math.Float64bits(want)) {
			t.Fatalf("%q: %v, want %v", s, v, want)
		}
		if d := newDecoder(); ok && end == len(s) {
			if err := d.whole("", []byte(s), func() error { _, err := d.number(""); return err }); err != nil {
				t.Fatalf("%q is no number of JSON: %v", s, err)
			}
		}
	})
}

// Numbers of up to 19 digits, also those in the middle between two of 64 bits, are read as strconv does, to the bit.
func TestNumbers_AreReadAsStrconvDoes(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	own := 0
	for range 50_000 {
		var s string
		switch r.IntN(4) {
		case 0:
			s = strconv.FormatFloat(r.NormFloat64(), 'f', -1, 64)
		case 1:
			s = strconv.FormatUint(r.Uint64N(1e19), 10)
		case 2: // between two, or beside that
			m := (1<<52+r.Uint64N(1<<52))<<1 + 1
			s = strconv.FormatUint(m<<r.IntN(10)+r.Uint64N(3)-1, 10)
		case 3:
			s = new(big.Float).Quo(big.NewFloat(float64(2*r.Uint64N(1<<53)+1)), big.NewFloat(float64(uint64(1)<<r.IntN(50)))).Text('f', r.IntN(17))
		}
		if at := r.IntN(19); r.IntN(2) == 0 && len(s) > at+1 && at > 0 && !strings.ContainsAny(s, ".-") {
			s = s[:at] + "." + s[at:]
		}
		want, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		v, end, ok := digits([]byte(s+","), 0)
		if ok {
			own++
		}
		if ok && (end != len(s) || math.Float64bits(v) != math.Float64bits(want)) {
			t.Fatalf("%s: %v, want %v", s, v, want)
		}
	}
	if own < 40_000 {
		t.Errorf("%d are read", own)
	}
}

// FuzzTime reads a time as time.Parse does by one of some layouts: PostgreSQL and DuckDB write the zone as +00,
// BigQuery as UTC, Snowflake as +0000 behind a blank, spreadsheets no seconds.
func FuzzTime(f *testing.F) {
	for _, s := range []string{"2024-02-29T23:59:59Z", "2023-02-29 00:00:00", "2024-01-01T24:00:00", "2024-01-01T00:00:60Z", "2024-13-01 00:00:00", "2024-00-10 00:00:00", "2024-04-31 00:00:00.5", "2024-04-00 00:00:00",
		"1677-01-01 00:00:00", "2024-01-01 00:00:00.123456789Z", "2024-01-01 00:00:00.1234567891", "2024-01-01 00:00:00.", "2024-01-01 00:00:00z", "2024-01-01T00:00:00+01:00", "2024-01-01 1:00:00", "0000-01-01 00:00:00",
		"2024-01-01", "2024-01-01T", "2024-1-01", "2024-01-01 00:00:00,5-07:00", "2024-01-01T1:00:00+0100", "2024-01-01 00:00:00 Z", "2024-01-01  00:00:00", "",
		"2024-01-01 00:00:00+00", "2024-01-01 00:00:00.25-08", "2024-01-01 00:00:00 UTC", "2024-01-01 00:00:00.000 +0530", "2024-01-01 23:59", "2024-01-01T23:59Z", "2024-01-01 00:00:00 EST"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := parseTime([]byte(s), "")
		layouts := []string{time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly}
		for _, clock := range []string{"15:04:05Z07", "15:04:05 UTC", "15:04:05 Z0700", "15:04:05Z0700", "15:04:05 Z07:00", "15:04", "15:04Z07:00"} {
			layouts = append(layouts, "2006-01-02 "+clock, "2006-01-02T"+clock)
		}
		for _, layout := range layouts {
			if want, err := time.Parse(layout, s); err == nil {
				if y := want.UTC().Year(); ok != (y >= 1678 && y <= 2261) || ok && got != want.UnixNano() {
					t.Fatalf("%q: %v %t, want %v", s, got, ok, want)
				}
				return
			}
		}
		if ok {
			t.Fatalf("%q: %v, and it is no time", s, got)
		}
	})
}
