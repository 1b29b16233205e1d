package dataset

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The subsets in testdata are the first examples of the real sets, in the same four files.
// Where Open finds both real sets, this writes them anew:
//
//	go test ./train/dataset -run TestSubset_IsTheStartOfTheRealData -update
var update = flag.Bool("update", false, "write testdata/mnist and testdata/fashion from the full data sets")

// subset is where the subset of a data set lies.
func subset(name string) string { return filepath.Join("..", "..", "testdata", name) }

func TestSubset_IsTheStartOfTheRealData(t *testing.T) {
	for _, c := range []struct {
		name        string
		train, test int
	}{
		{"mnist", 2000, 500},
		{"fashion", 1750, 500}, // 2,000 are over a megabyte
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := subset(c.name)
			if *update {
				full, err := Open(c.name, "")
				if err != nil {
					t.Fatal(err)
				}
				write(t, filepath.Join(dir, files[0]), images(full.Train, full.ImageRows, c.train))
				write(t, filepath.Join(dir, files[1]), labels(full.Train.Labels[:c.train]))
				write(t, filepath.Join(dir, files[2]), images(full.Test, full.ImageRows, c.test))
				write(t, filepath.Join(dir, files[3]), labels(full.Test.Labels[:c.test]))
			}
			d, err := Open(c.name, dir)
			if err != nil {
				t.Fatal(err)
			}
			if d.Train.Len() != c.train || d.Test.Len() != c.test || d.Train.Dim() != 784 || d.ImageRows != 28 || d.ImageCols != 28 || d.Classes != 10 {
				t.Errorf("%d and %d examples, %d pixels, %d classes", d.Train.Len(), d.Test.Len(), d.Train.Dim(), d.Classes)
			}
			for _, part := range []*Set{d.Train, d.Test} {
				seen := slices.Compact(slices.Sorted(slices.Values(part.Labels)))
				if len(seen) != 10 {
					t.Errorf("classes %v", seen)
				}
			}
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			size := int64(0)
			for _, e := range entries {
				info, err := e.Info()
				if err != nil {
					t.Fatal(err)
				}
				size += info.Size()
			}
			if size > 1e6 {
				t.Errorf("%s: %d bytes, more than a megabyte", dir, size)
			}
		})
	}
}

// images is the IDX form of the first n images of a set.
func images(s *Set, rows, n int) []byte {
	return idx(imageMagic, s.pix[:n*s.dim], n, rows, s.dim/rows)
}
