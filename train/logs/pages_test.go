package logs

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Rows are the same in every order of reading, dense ones and sparse ones, whether they
// come from the mapping or from the file.
func TestRows_AreTheSameInEveryOrderOfReading(t *testing.T) {
	const n = 500
	for _, layout := range []string{"dense", "sparse"} {
		path := filepath.Join(t.TempDir(), "log.parquet")
		w := newWorld(7, 3, 5)
		o := WriterOptions{Actions: w.actions, Names: w.names}
		if layout == "sparse" {
			o.Names = nil
		}
		out, err := Create(path, o)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		var d Decision
		for i := range n {
			w.next(&d)
			if layout == "sparse" {
				d.Context = d.Context[i%8:] // none, too
			}
			want = append(want, fmt.Sprint(d.Context))
			if err := out.Write(&d); err != nil {
				t.Fatal(err)
			}
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		l := mustOpen(t, path, Options{})
		if (l.offsets == nil) != (layout == "dense") {
			t.Fatalf("%s: offsets %v", layout, l.offsets)
		}
		read := func(i int) {
			if l.Decision(i, &d); fmt.Sprint(d.Context) != want[i] {
				t.Fatalf("%s: row %d: %v, want %v", layout, i, d.Context, want[i])
			}
		}
		for i := range n {
			read(i)
		}
		for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
			read(i)
		}
		if !mappable {
			continue
		}
		p := pages{file: l.pages.file, every: 1 << 40}
		for _, c := range []struct {
			row     int
			ordered bool
		}{{3, true}, {4, true}, {4 + near, true}, {9 * near, false}, {1 + 9*near, true}, {5 + 2*near, true}, {10 * near, true}, {3 * near, true}, {0, true}, {7 * near, false}, {66 * near, false}, {near, true}, {2 * near, true}, {66*near + 1, false}} {
			if got := p.ordered(c.row); got != c.ordered {
				t.Errorf("%s: row %d in order: %v", layout, c.row, got)
			}
		}
		ids, values := l.ids, l.values
		if layout == "sparse" {
			ids, values = l.ids[l.offsets[9]:l.offsets[10]], l.values[l.offsets[9]:l.offsets[10]]
		}
		some, more := make([]uint32, len(ids)), make([]float64, 2)
		if !fetch(&l.pages, some, ids) || !slices.Equal(some, ids) || !fetch(&l.pages, more, values) || !slices.Equal(more, values[:2]) {
			t.Errorf("%s: from the file %v and %v, mapped %v and %v", layout, some, more, ids, values[:2])
		}
	}
}

// The library takes memory for blocks of differences before it looks whether their bytes are there.
func TestDeltas_RefuseBlocksThatTakeMemory(t *testing.T) {
	for _, c := range []struct {
		block uint64
		width byte
		want  string
	}{{128, 64, ""}, {1 << 24, 1, "blocks of 16777216 values in 1"}, {128, 255, "differences of 255 bits"}} {
		text := binary.AppendUvarint(nil, c.block)
		text = append(text, 1, 100, 0, 0, c.width) // in one part, of 100 values from 0 on with differences of at least 0
		_, err := deltas(append(text, make([]byte, 1024)...), 100)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("block of %d by %d bits: %v, want %q", c.block, c.width, err, c.want)
		}
	}
}
