package dataset_test

import (
	"fmt"
	"log"
	"path/filepath"

	"opl/train/dataset"
)

// The subset in testdata has the format of the whole set.
func Example() {
	d, err := dataset.Open("mnist", filepath.Join("..", "..", "testdata", "mnist"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Train.Len(), d.Test.Len(), d.Classes, d.Train.Dim())
	// Output: 2000 500 10 784
}
