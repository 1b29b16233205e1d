// Command entropic is opl with one more objective, the entropic risk log mean exp(ŵc).
package main

import (
	"os"

	"opl/cmd/cli"
	"opl/graph"
	"opl/objectives"
	"opl/train/library"
)

func main() {
	entropic := func(p objectives.Problem) graph.Expr {
		return p.Mean("e", p.Loss().Exp()).Log() // log mean exp(ŵc)
	}
	lib := library.Standard()
	lib.Objectives = append(lib.Objectives, library.Objective{
		Name: "entropic", Policy: "softmax", About: "the entropic risk",
		Make: func(library.Args) objectives.Objective { return entropic }})
	os.Exit(cli.Run(lib, os.Args[1:], os.Stdout, os.Stderr))
}
