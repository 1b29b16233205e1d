//go:build unix

package cli

import (
	"os"
	"syscall"
)

// reopenSignals make serve open its log again.
var reopenSignals = []os.Signal{syscall.SIGUSR1}
