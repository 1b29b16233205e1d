//go:build unix

package main

import (
	"os"
	"syscall"
)

// signals are those of scripts.
var signals = map[string]os.Signal{"USR1": syscall.SIGUSR1, "HUP": syscall.SIGHUP}
