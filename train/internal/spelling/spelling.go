// Package spelling finds what a misspelled name was meant to be. Use it in errors about names.
package spelling

import (
	"fmt"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Distance counts the insertions, deletions and substitutions of bytes from a to
// b (Levenshtein 1966).
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// Nearest returns the first of the names with the least distance to name, "" if none
// is within most.
func Nearest(name string, names []string, most int) string {
	best, least := "", most+1
	for _, n := range names {
		if len(name) >= len(n)+least || len(n) >= len(name)+least {
			continue // whose lengths alone are as far apart
		}
		if d := Distance(name, n); d < least {
			best, least = n, d
		}
	}
	return best
}

// Suggest is ": did you mean X?" for the nearest of the names, or nothing if none
// is near: within changes of half its letters.
func Suggest(name string, names []string) string {
	if best := Nearest(name, names, (len(name)+1)/2); best != "" {
		return fmt.Sprintf(": did you mean %q?", best)
	}
	return ""
}

// Alike finds names that may be one: they differ by blanks around them, by how letters with accents are written, by .0
// after a number, or by capitals. Short names of more than ten, and those of more than a thousand, may be identifiers
// in which capitals count.
func Alike(names []string) (one, other string, found bool) {
	seen := map[string]string{}
	for _, name := range names {
		key := norm.NFC.String(strings.TrimSuffix(strings.TrimSpace(name), ".0"))
		if len(key) >= 4 && len(names) <= 1000 || len(names) <= 10 {
			key = strings.ToLower(key)
		}
		if first, is := seen[key]; is {
			return first, name, true
		}
		seen[key] = name
	}
	return "", "", false
}
