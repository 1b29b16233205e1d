package main

import (
	"encoding/json"
	"fmt"
	"opl/testdata/long"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// jq is as much of jq -r as docs/how-to uses: a path of names and numbers, such as .a[0].b.
func jq() {
	text, err := os.ReadFile(os.Args[3])
	var v any
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	for _, step := range regexp.MustCompile(`\.(\w+)|\[(\d+)\]`).FindAllStringSubmatch(os.Args[2], -1) {
		if list, ok := v.([]any); ok {
			var i int
			fmt.Sscan(step[2], &i)
			v = list[i]
		} else if object, ok := v.(map[string]any); ok {
			v = object[step[1]]
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(v)
}

// The script of docs/how-to/scripts.md, which reads nothing but JSON and exit statuses, goes the whole way from a log to the next
// policy, and what it has read has the fields that the tables of docs/reference/json.md list, no others, and the exit status that it left with.
func TestHowToScript_NeedsOnlyJSONAndExitStatuses(t *testing.T) {
	long.Test(t)
	page := readPage(t, "docs/reference/json.md")
	_, script, _ := strings.Cut(readPage(t, "docs/how-to/scripts.md"), "```sh\n")
	script, _, _ = strings.Cut(script, "```")
	dir := t.TempDir()
	run := func(name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
	}
	loop := filepath.Join(dir, "loop")
	if out, err := exec.Command("go", "build", "-o", loop, "../../testdata/loop").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for i, name := range []string{"first.csv", "second.csv", "third.csv"} {
		n := "2000"
		if i == 0 { // little, so that the next round learns more
			n = "500"
		}
		run(loop, "first", "--n", n, "--seed", fmt.Sprint(i+1), "--out", name)
	}
	script = strings.ReplaceAll(script, " --out policy.json", " --epochs 3 --out policy.json")
	script = strings.ReplaceAll(script, " --log served.jsonl", " --log served.jsonl --seed 1")
	script = "i=0; until (" + script + "); do i=$((i+1)); test $i -lt 3 || exit 1; rm -f addr policy.json served.jsonl* next.*; done"
	run("sh", "-c", script) // again where nothing is learned, as happens now and then: ids, which divide rows, are new

	paper, err := filepath.Abs("../../testdata/paper/runs.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	run("sh", "-c", "mkdir results; zcat "+paper+" | head -100 > results/runs.jsonl; opl plot results --out figures --format json > plot.json")

	want := documented(page)
	for file, command := range map[string]string{"inspect": "inspect", "train": "train", "again": "train", "certify": "certify",
		"join": "join", "monitor": "monitor", "evaluate": "evaluate", "select": "select", "plot": "plot"} {
		text, err := os.ReadFile(filepath.Join(dir, file+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var answer map[string]any
		if err := json.Unmarshal(text, &answer); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if answer["version"] != 1. || answer["command"] != command || answer["status"] == 1. {
			t.Errorf("%s: %v %v %v", file, answer["version"], answer["command"], answer["status"])
		}
		fields := want[command]
		got := map[string]bool{}
		var walk func(path string, v any)
		walk = func(path string, v any) {
			inner := slices.ContainsFunc(fields, func(f field) bool { return strings.HasPrefix(f.path, path+".") || strings.HasPrefix(f.path, path+"[]") })
			switch v := v.(type) {
			case map[string]any:
				if path == "" || inner {
					for name, v := range v {
						walk(strings.TrimPrefix(path+"."+name, "."), v)
					}
					return
				}
			case []any:
				if inner {
					for _, v := range v {
						walk(path+"[]", v)
					}
					return
				}
			}
			got[path] = true
		}
		walk("", answer)
		for path := range got {
			if !slices.ContainsFunc(fields, func(f field) bool { return f.path == path }) {
				t.Errorf("%s: docs/reference/json.md has no field %s", command, path)
			}
		}
		for _, f := range fields {
			if !f.optional && !got[f.path] {
				t.Errorf("%s: there is no field %s, which docs/reference/json.md lists", command, f.path)
			}
		}
	}
}

type field struct {
	path     string
	optional bool
}

// documented are the fields of the tables, by command.
func documented(page string) map[string][]field {
	all := map[string][]field{}
	names := regexp.MustCompile("`([^`]+)`")
	commands := []string{}
	_, page, _ = strings.Cut(page, "## JSON")
	for _, line := range strings.Split(page, "\n") {
		switch {
		case strings.HasPrefix(line, "Of every command"):
			commands = []string{"inspect", "train", "certify", "evaluate", "select", "join", "monitor", "plot"}
		case strings.HasPrefix(line, "### "):
			commands = strings.Split(strings.ReplaceAll(strings.TrimPrefix(line, "### "), ", ", " and "), " and ")
		case strings.HasPrefix(line, "and of train alone"):
			commands = []string{"train"}
		case strings.HasPrefix(line, "of certify alone"):
			commands = []string{"certify"}
		case strings.HasPrefix(line, "## "):
			return all
		case strings.HasPrefix(line, "| `"):
			cells := strings.Split(line, "|")
			for _, m := range names.FindAllStringSubmatch(cells[1], -1) {
				for _, c := range commands {
					all[c] = append(all[c], field{m[1], strings.HasPrefix(strings.TrimSpace(cells[2]), "optional")})
				}
			}
		}
	}
	return all
}
