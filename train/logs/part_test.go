package logs

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"
)

// A part whose rows are anything, under a checksum that is right, is read or is an error, and never a panic.
func TestPartsOfAnything(t *testing.T) {
	for name, text := range map[string]string{
		"plain": `{"decision_id":"d","action":"a","reward":1,"propensities":{"a":0.5,"b":0.5},"x_1":2,"group":"g","timestamp":5,"policy":"p","weight":2}` + "\n" +
			`{"decision_id":"e","action":"b","reward":0,"propensities":{"b":0.5,"a":0.5},"x_2":"c","group":"g","timestamp":5,"policy":"p","weight":1}` + "\n" + "{\n",
		"sets": `{"action":"a","reward":1,"propensity":0.5,"actions":[{"id":"a","u":1},{"id":"b","u":2,"k":"v"}]}` + "\n" + `{"action":"b","reward":1,"propensity":0.5,"actions":[{"id":"c","u":1},{"id":"b","u":2}]}` + "\n",
	} {
		dir := t.TempDir()
		for _, file := range []string{"1.jsonl", "2.jsonl"} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(strings.ReplaceAll(text, `"decision_id":"`, `"decision_id":"`+file)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		o := Options{BadRows: filepath.Join(t.TempDir(), "bad")}
		read := func() (int, error) {
			l, err := OpenAll(context.Background(), []string{dir}, o)
			if err != nil {
				return 0, err
			}
			n := l.Len()
			return n, l.Close()
		}
		if n, err := read(); n != 4 || err != nil {
			t.Fatal(name, n, err)
		}
		path := filepath.Join(dir, ".2.jsonl.opl-part")
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		header := int(binary.LittleEndian.Uint64(whole[len(whole)-16:]))
		z, _ := zstd.NewReader(nil)
		rows, err := z.DecodeAll(whole[8:len(whole)-16-header], nil)
		if err != nil {
			t.Fatal(err)
		}
		w, _ := zstd.NewWriter(nil)
		r := rand.New(rand.NewPCG(1, 2))
		failed, good := 0, 0
		for range 40 {
			other := bytes.Clone(rows)
			for range 1 + r.IntN(3) {
				other[r.IntN(len(other))] = byte(r.Uint32())
			}
			if r.IntN(8) == 0 {
				other = other[:r.IntN(len(other))]
			}
			part := append(append(bytes.Clone(whole[:8]), w.EncodeAll(other, nil)...), whole[len(whole)-16-header:len(whole)-8]...)
			part = binary.LittleEndian.AppendUint64(part, xxhash.Sum64(part))
			if err := os.WriteFile(path, part, 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := read(); err != nil {
				failed++
			} else {
				good++
			}
		}
		if failed == 0 || good == 0 {
			t.Errorf("%s: %d were read, %d not: the rows are not those that were changed", name, good, failed)
		}
	}
}
