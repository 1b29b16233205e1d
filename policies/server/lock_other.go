//go:build !unix

package server

import "os"

// lock does nothing where there is no flock: two servers must not be given the
// same log.
func lock(*os.File) error { return nil }
