package logs

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// No damaged Parquet file makes the reader panic.
func TestParquet_NeverPanicsWhenDamaged(t *testing.T) {
	type flat struct {
		Yes float64 `parquet:"p_0"`
		No  float64 `parquet:"p_1"`
	}
	var b bytes.Buffer
	rows := make([]flat, 50)
	for i := range rows {
		rows[i] = flat{0.5, 0.5}
	}
	if err := parquet.Write(&b, rows); err != nil {
		t.Fatal(err)
	}
	failed, path := 0, filepath.Join(t.TempDir(), "t.parquet")
	for i := range b.Len() {
		damaged := slices.Clone(b.Bytes())
		damaged[i] ^= 0xff
		if err := os.WriteFile(path, damaged, 0o644); err != nil {
			t.Fatal(err)
		}
		if !halves(path) {
			failed++
		}
	}
	if failed < b.Len()/4 {
		t.Errorf("%d of %d damages were noticed", failed, b.Len())
	}
}

// halves reports that a file can be read and is 50 rows of p_0 = p_1 = 0.5.
func halves(path string) bool {
	r, err := OpenRows(path, Options{})
	if err != nil {
		return false
	}
	defer r.Close()
	n := 0
	for ; r.Next(); n++ {
		for _, f := range []string{"p_0", "p_1"} {
			if v, err := r.Number(f); err != nil || v != 0.5 {
				return false
			}
		}
	}
	return n == 50 && r.Err() == nil
}
