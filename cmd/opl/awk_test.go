package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// portableRand are srand and rand of the awk that the scripts were written with, for all that have others: the
// scripts say what comes of logs that awk draws. They are the additive feedback of glibc's random.
const portableRand = `
function sow(s,   i) {
	R[0] = s == 0 ? 1 : int(s)
	for (i = 1; i < 31; i++) R[i] = (16807 * R[i-1]) % 2147483647
	for (i = 31; i < 34; i++) R[i] = R[i-31]
	for (N = 34; N < 344; N++) R[N] = (R[N-31] + R[N-3]) % 4294967296
}
function draw() {
	R[N] = (R[N-31] + R[N-3]) % 4294967296
	delete R[N-31]
	return int(R[N++] / 2) / 2147483647
}
`

var (
	randCall  = regexp.MustCompile(`\brand\(\)`)
	srandCall = regexp.MustCompile(`\bsrand\(`)
)

// awk is the next awk of the path, whose programs draw the same numbers on every machine.
func awk() {
	program, args := "", []string{}
	rest := os.Args[1:]
	for len(rest) > 1 && strings.HasPrefix(rest[0], "-") {
		switch flag := rest[0]; flag {
		case "-f":
			text, err := os.ReadFile(rest[1])
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(2)
			}
			program, rest = string(text), rest[2:]
		case "-v", "-F":
			args, rest = append(args, flag, rest[1]), rest[2:]
		default:
			args, rest = append(args, flag), rest[1:]
		}
	}
	if program == "" && len(rest) > 0 {
		program, rest = rest[0], rest[1:]
	}
	if randCall.MatchString(program) {
		program = portableRand + srandCall.ReplaceAllString(randCall.ReplaceAllString(program, "draw()"), "sow(")
	}
	self, _ := os.Executable()
	me, _ := os.Stat(self)
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, "awk")
		if f, err := os.Stat(path); err != nil || os.SameFile(f, me) {
			continue
		}
		cmd := exec.Command(path, append(append(args, program), rest...)...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := cmd.Run(); cmd.ProcessState == nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		os.Exit(cmd.ProcessState.ExitCode())
	}
	fmt.Fprintln(os.Stderr, "there is no awk in the path")
	os.Exit(127)
}
