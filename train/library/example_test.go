package library_test

import (
	"fmt"
	"log"

	"opl/objectives"
	"opl/train/library"
)

// A name of one's own beside those of opl: commands, grid files and figures know all that a Library holds.
func Example() {
	lib := library.Standard()
	lib.Objectives = append(lib.Objectives, library.Objective{Name: "mine", Label: "Mine", Policy: "softmax",
		Make: func(library.Args) objectives.Objective { return objectives.Risk() }})
	if err := lib.Validate(); err != nil {
		log.Fatal(err)
	}
	mine, err := lib.Objective("mine")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(mine.Label, "of a", mine.Policy, "policy")
	_, err = lib.Weight("clop")
	fmt.Println(err)
	// Output:
	// Mine of a softmax policy
	// unknown weight "clop": did you mean "clip"? (known: clip, es, ix, har, ips)
}
