// Opl learns policies from logs of a contextual bandit, pessimistically, and
// compares the ways to do it. See opl --help.
package main

import (
	"os"

	"opl/cmd/cli"
	"opl/train/library"
)

func main() { os.Exit(cli.Run(library.Standard(), os.Args[1:], os.Stdout, os.Stderr)) }
