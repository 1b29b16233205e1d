//go:build !unix

package main

import "os"

// signals are those of scripts: there are none here.
var signals map[string]os.Signal
