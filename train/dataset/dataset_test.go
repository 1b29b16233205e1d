package dataset

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// openSet writes and opens a data set.
func openSet(t *testing.T, content [4][]byte) *Data {
	t.Helper()
	dir := t.TempDir()
	writeSet(t, dir, content)
	d, err := Open("small", dir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestRow_HasUnitLengthUnlessItIsZero(t *testing.T) {
	d := openSet(t, small())
	s := d.Train
	if d.Classes != 3 || d.ImageRows != 2 || d.ImageCols != 3 || s.Len() != 4 || s.Dim() != 6 || d.Test.Len() != 2 {
		t.Errorf("wrong shape: %+v", d)
	}
	x := math.Sqrt(1 + 4 + 9 + 16 + 25 + 36)
	for i, want := range [][]float64{
		{3. / 5, 0, 0, 0, 4. / 5, 0},
		{0, 1, 0, 0, 0, 0},
		{1 / x, 2 / x, 3 / x, 4 / x, 5 / x, 6 / x},
		{0, 0, 0, 0, 0, 0},
	} {
		row64 := []float64{9, 9, 9, 9, 9, 9} // must be overwritten
		row32 := []float32{9, 9, 9, 9, 9, 9}
		s.Row64(i, row64)
		s.Row32(i, row32)
		for j := range want {
			if row64[j] != want[j] || row32[j] != float32(want[j]) {
				t.Errorf("pixel %d of image %d: %v and %v, want %v", j, i, row64[j], row32[j], want[j])
			}
		}
	}
	if s.Norm(0) != 1 || s.Norm(3) != 0 {
		t.Errorf("norms %v and %v, want 1 and 0", s.Norm(0), s.Norm(3))
	}
}

// Without zeros a row is the same numbers in the same places.
func TestSparse32_HoldsTheRowsNumbers(t *testing.T) {
	d, err := Open("mnist", subset("mnist"))
	if err != nil {
		t.Fatal(err)
	}
	s := d.Train
	row, val, at := make([]float32, s.Dim()), make([]float32, s.Dim()), make([]int32, s.Dim())
	for i := range s.Len() {
		s.Row32(i, row)
		n := s.Sparse32(i, val, at)
		for k, j := range at[:n] {
			if val[k] == 0 || val[k] != row[j] || k > 0 && j <= at[k-1] {
				t.Fatalf("image %d: element %d is %v at %d, the row has %v there", i, k, val[k], j, row[j])
			}
			row[j] = 0
		}
		for j, v := range row {
			if v != 0 {
				t.Fatalf("image %d: %v at %d is missing", i, v, j)
			}
		}
	}
}

func TestRows_HaveTheNormTheyState(t *testing.T) {
	for _, name := range known {
		d, err := Open(name, subset(name))
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float64, d.Train.Dim())
		for i := range d.Train.Len() {
			d.Train.Row64(i, x)
			square := 0.
			for _, v := range x {
				square += v * v
			}
			if math.Abs(math.Sqrt(square)-d.Train.Norm(i)) > 1e-14 {
				t.Fatalf("%s: ‖φ(x_%d)‖ = %v, want %v", name, i, math.Sqrt(square), d.Train.Norm(i))
			}
		}
	}
}

func TestOpen_ReadsManyClassesOfOddSizes(t *testing.T) {
	var pixels, y []byte
	for i := range 94 {
		y = append(y, byte(i%47))
		for j := range 35 {
			pixels = append(pixels, byte(i*j))
		}
	}
	d := openSet(t, [4][]byte{
		idx(imageMagic, pixels, 94, 5, 7), labels(y),
		idx(imageMagic, pixels[:35], 1, 5, 7), labels(y[:1]),
	})
	if d.Classes != 47 || d.ImageRows != 5 || d.ImageCols != 7 || d.Train.Dim() != 35 || d.Train.Norm(0) != 0 {
		t.Errorf("wrong set: %+v", d)
	}
}

func TestOpen_TakesALabelThatOnlyTestRowsHave(t *testing.T) {
	content := small()
	content[3] = labels([]byte{255, 0}) // the largest label may be a test example's
	if d := openSet(t, content); d.Classes != 256 {
		t.Errorf("%d classes, want 256", d.Classes)
	}
}

func TestHash_DependsOnContentNotOnCompression(t *testing.T) {
	a := openSet(t, small())
	recompressed := small()
	recompressed[0] = append(compress(recompressed[0][:20]), compress(recompressed[0][20:])...)
	if b := openSet(t, recompressed); b.Hash != a.Hash {
		t.Error("the hash depends on the compression")
	}
	other := small()
	other[3][9]++
	if b := openSet(t, other); b.Hash == a.Hash || len(a.Hash) != 64 {
		t.Errorf("hash %s for two sets", a.Hash)
	}
}

func BenchmarkRow64(b *testing.B) {
	d, err := Open("mnist", subset("mnist"))
	if err != nil {
		b.Fatal(err)
	}
	x := make([]float64, d.Train.Dim())
	for i := 0; b.Loop(); i++ {
		d.Train.Row64(i%d.Train.Len(), x)
	}
}

// BenchmarkOpen reads the full sets where they are installed.
func BenchmarkOpen(b *testing.B) {
	for _, name := range known {
		b.Run(name, func(b *testing.B) {
			at, err := find(name, "")
			if err != nil {
				b.Skip(err)
			}
			info, err := os.Stat(filepath.Join(at.dir, files[0]))
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(info.Size())
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Open(name, ""); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
