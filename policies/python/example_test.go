package python_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"opl/policies/python"
)

// The module is one file, written beside the policy that Python is to read.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "opl_policy.py"), []byte(python.Source), 0o666); err != nil {
		panic(err)
	}
	fmt.Println(strings.Contains(python.Source, "\ndef load("))
	// Output: true
}
