// Package long marks tests that take long, which run where continuous integration asks for them.
package long

import (
	"os"
	"testing"
)

// Wanted reports whether OPL_CI, OPL_LONG or OPL_LOGS is set, and OPL_CI not to 0. In scripts of cmd/opl it is the
// condition [ci].
func Wanted() bool {
	return os.Getenv("OPL_CI") != "0" && (os.Getenv("OPL_CI") != "" || os.Getenv("OPL_LONG") != "" || os.Getenv("OPL_LOGS") != "")
}

// Test skips a test unless long ones are wanted.
func Test(t testing.TB) {
	t.Helper()
	if !Wanted() {
		t.Skip("takes long: set OPL_CI=1, as .ci/run does")
	}
}
