package figure_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"opl/train/report/figure"
)

// A curve of three points with intervals, drawn as a file of 300 dots per inch.
func Example() {
	learned := figure.Curve{Name: "learned", Style: figure.Category(0)}
	for i, reward := range []float64{.31, .42, .47} {
		learned.Add(float64(i+1), reward, reward-.02, reward+.02, "")
	}
	f := figure.Figure{Name: "rewards", Panels: [][]*figure.Panel{{
		{Title: "held out", X: "epoch", Y: "reward", Whole: true, Curves: []figure.Curve{learned}},
	}}}
	png, err := f.Encode("png", figure.PrintDPI)
	if err != nil {
		log.Fatal(err)
	}
	path := filepath.Join(os.TempDir(), f.Name+".png")
	defer os.Remove(path)
	if err := os.WriteFile(path, png, 0o666); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q\n", png[1:4])
	// Output: "PNG"
}
