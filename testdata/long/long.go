// Package long marks tests that take long, which run where continuous integration asks for them.
package long

import (
	"os"
	"testing"
)

// Test skips a test unless OPL_CI, OPL_LONG or OPL_LOGS is set.
func Test(t testing.TB) {
	t.Helper()
	if os.Getenv("OPL_CI") == "" && os.Getenv("OPL_LONG") == "" && os.Getenv("OPL_LOGS") == "" {
		t.Skip("takes long: set OPL_CI=1, as .ci/run does")
	}
}
