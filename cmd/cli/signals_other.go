//go:build !unix

package cli

import "os"

var reopenSignals []os.Signal
