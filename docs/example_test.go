package docs_test

import (
	"fmt"
	"strings"

	"opl/docs"
)

// What a word of the glossary means.
func Example() {
	for _, line := range strings.Split(docs.Glossary, "\n") {
		if cells := strings.Split(line, " | "); strings.HasPrefix(cells[0], "| context") {
			fmt.Println(strings.TrimSuffix(cells[1], " |"))
		}
	}
	// Output: what was known before the choice
}
