package wholefile_test

import (
	"fmt"
	"os"
	"path/filepath"

	"opl/policies/wholefile"
)

// A write that fails leaves the file that was there.
func Example() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "result")
	write := func(text string, failure error) error {
		return wholefile.Write(path, 0, func(f *os.File) error {
			fmt.Fprint(f, text)
			return failure
		})
	}
	fmt.Println(write("first", nil), write("second, cut sh", os.ErrDeadlineExceeded) != nil)
	b, _ := os.ReadFile(path)
	fmt.Println(string(b))
	// Output:
	// <nil> true
	// first
}
