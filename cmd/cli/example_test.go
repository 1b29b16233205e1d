package cli_test

import (
	"fmt"
	"os"
	"strings"

	"opl/cmd/cli"
	"opl/objectives"
	"opl/train/library"
)

// A command line with an objective of your own: every command knows it by its name.
func Example() {
	lib := library.Standard()
	lib.Objectives = append(lib.Objectives, library.Objective{
		Name: "mine", Policy: "softmax", About: "the estimated risk alone",
		Make: func(library.Args) objectives.Objective { return objectives.Risk() },
	})
	var out strings.Builder
	status := cli.Run(lib, []string{"gradcheck", "--objectives", "mine"}, &out, os.Stderr)
	fmt.Println(status, strings.Contains(out.String(), " 0 above 1e-05"))
	// Output: 0 true
}
