package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"opl/cmd/cli"
	"opl/graph"
	"opl/objectives"
	"opl/objectives/weights"
	"opl/testdata/long"
	"opl/train/library"
	"opl/train/ope"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"opl": main, "own": own, "jq": jq, "awk": awk})
}

// own is the command line with an objective and a weight of one's own, those of
// testdata/own, and an estimator.
func own() {
	lib := library.Standard()
	lib.Objectives = append(lib.Objectives, library.Objective{Name: "entropic", Policy: "softmax",
		Make: func(library.Args) objectives.Objective {
			return func(p objectives.Problem) graph.Expr { return p.Mean("e", p.Loss().Exp()).Log() }
		}})
	lib.Weights = append(lib.Weights, library.Weight{Name: "truncated", IPSAt: 0, Make: func(h float64) objectives.Weight {
		return objectives.Weight{Name: "truncated", Hyper: h,
			Of: func(pi, pi0 weights.Value) weights.Value { return pi.Div(pi0).AtMost(1 / h) }}
	}})
	lib.Estimators = append(lib.Estimators, ope.Estimator{Name: "short", About: "mean of min(w, 2) r", Biased: true,
		Of: func(d *ope.Data, _ float64) ope.Value {
			return d.Mean(func(i int) float64 { return min(d.W[i], 2) * d.R[i] })
		}})
	os.Exit(cli.Run(lib, os.Args[1:], os.Stdout, os.Stderr))
}

// TestScripts runs the scripts of testdata/script; each is a session with the
// command line, on the subsets of the real data in the repository's testdata.
func TestScripts(t *testing.T) {
	data, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("DATA", data)
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("GOMODCACHE", filepath.Join(e.WorkDir, "none"))
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "ci" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			return long.Wanted(), nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"policy":      writePolicy,
			"shop":        writeShop,
			"ask":         ask,
			"hammer":      hammer,
			"certificate": writeCertificate,
			// oneline FILE: the file is one line.
			"oneline": func(ts *testscript.TestScript, _ bool, args []string) {
				if s := ts.ReadFile(args[0]); len(s) == 0 || s[len(s)-1] != '\n' || countLines(s) != 1 {
					ts.Fatalf("%s is not one line: %q", args[0], s)
				}
			},
			// sametimes A B: two CSVs are equal but for the column of seconds.
			"sametimes": func(ts *testscript.TestScript, _ bool, args []string) {
				if a, b := withoutSeconds(ts, args[0]), withoutSeconds(ts, args[1]); a != b {
					ts.Fatalf("the tables differ:\n%s\n%s", a, b)
				}
			},
			// signal NAME SIGNAL: to a command in the background.
			"signal": func(ts *testscript.TestScript, _ bool, args []string) {
				for _, cmd := range ts.BackgroundCmds() {
					ts.Check(cmd.Process.Signal(signals[args[1]]))
				}
			},
			// until ADDRESSFILE ANSWER HEADER: asks until the answer begins so, a regular expression.
			"until": func(ts *testscript.TestScript, _ bool, args []string) {
				for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
					ask(ts, false, []string{args[0], "POST", "/decide", `{"context":{"age":41}}`, "until.out", args[2]})
					if regexp.MustCompile("^" + args[1]).MatchString(ts.ReadFile("until.out")) {
						return
					}
				}
				ts.Fatalf("never %s", args[1])
			},
			// appears FILE: waits until it is there.
			"appears": func(ts *testscript.TestScript, _ bool, args []string) {
				for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
					if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
						return
					} else if time.Now().After(end) {
						ts.Fatalf("%s does not come", args[0])
					}
				}
			},
			// zeros FILE…: a million zeros before what is there.
			"zeros": func(ts *testscript.TestScript, _ bool, args []string) {
				for _, file := range args {
					text := strings.Repeat("\x00", 1_000_000) + ts.ReadFile(file)
					ts.Check(os.WriteFile(ts.MkAbs(file), []byte(text), 0o644))
				}
			},
			// append FILE TEXT: without a line end.
			"append": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(ts.ReadFile(args[0])+args[1]), 0o644))
			},
			// replace FILE OLD NEW
			"replace": func(ts *testscript.TestScript, _ bool, args []string) {
				text := ts.ReadFile(args[0])
				if !strings.Contains(text, args[1]) {
					ts.Fatalf("%s has no %s", args[0], args[1])
				}
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.ReplaceAll(text, args[1], args[2])), 0o644))
			},
			// truncate FILE: keeps the first half.
			"truncate": func(ts *testscript.TestScript, _ bool, args []string) {
				b, err := os.ReadFile(ts.MkAbs(args[0]))
				ts.Check(err)
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), b[:len(b)/2], 0o644))
			},
		},
	})
}

func countLines(s string) (n int) {
	for _, c := range s {
		if c == '\n' {
			n++
		}
	}
	return n
}

func withoutSeconds(ts *testscript.TestScript, file string) string {
	rows, err := csv.NewReader(strings.NewReader(ts.ReadFile(file))).ReadAll()
	ts.Check(err)
	at := slices.Index(rows[0], "seconds")
	if at < 0 || len(rows) < 2 {
		ts.Fatalf("%s: no rows or no column seconds", file)
	}
	for _, r := range rows {
		r[at] = ""
	}
	return fmt.Sprint(rows)
}
