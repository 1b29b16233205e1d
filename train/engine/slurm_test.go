package engine_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"opl/train/engine"
)

// Whatever the words of a command, the script hands them over as they are, with the number of the part in them.
func TestSlurmScript_HandsOverItsWords(t *testing.T) {
	dir := t.TempDir()
	show := filepath.Join(dir, "show it")
	if err := os.WriteFile(show, []byte("#!/bin/sh\nprintf '%s\\n' \"$@\"\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	words := []string{"plain", "", "a b", "it's", `"q"`, "$HOME", "`date`", "a\\b", "*", "η₀=0", "x" + engine.Index + "/8", "~", "--lr=1e-7", "#", "line\nbreak", engine.Index + "'" + engine.Index}
	w := engine.Work{Name: "opl-x", Part: append([]string{show}, words...), Merge: []string{show, "done"}, Of: 8, Folder: dir, Logs: dir,
		Options: []engine.Option{{Key: "comment", Value: `a "b"`}, {Key: "exclusive"}}}
	part, merge, err := w.SlurmScripts()
	if err != nil {
		t.Fatal(err)
	}
	run := func(script string) string {
		cmd := exec.Command("sh", "-c", script)
		cmd.Env = append(os.Environ(), "SLURM_ARRAY_TASK_ID=3", "SLURM_CPUS_PER_TASK=2")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	want := strings.ReplaceAll(strings.Join(words, "\n")+"\n", engine.Index, "3")
	if got := run(part); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := run(merge); got != "done\n" {
		t.Errorf("the merge gets %q", got)
	}
	for _, line := range []string{`#SBATCH --comment="a \"b\""`, "#SBATCH --exclusive", "#SBATCH --job-name=opl-x", `#SBATCH --output="` + dir + `/%a.log"`} {
		if !slices.Contains(strings.Split(part, "\n"), line) {
			t.Errorf("no line %s in\n%s", line, part)
		}
	}
	for _, key := range []string{"array", "dependency", "output"} {
		w.Options = []engine.Option{{Key: key}}
		if _, _, err := w.SlurmScripts(); err == nil || !strings.Contains(err.Error(), "opl sets it itself") {
			t.Errorf("%s: %v", key, err)
		}
	}
	w.Options, w.Logs = nil, "/a%b"
	if _, _, err := w.SlurmScripts(); err == nil {
		t.Error("a folder that Slurm takes for a pattern")
	}
}

func TestParseOption_ReadsKeysAndRefusesInjections(t *testing.T) {
	for text, want := range map[string]engine.Option{"partition=main": {"partition", "main"}, "exclusive": {Key: "exclusive"},
		"spec.template.spec.nodeSelector.a/b=c=d": {"spec.template.spec.nodeSelector.a/b", "c=d"}} {
		t.Run(text, func(t *testing.T) {
			if o, err := engine.ParseOption(text); err != nil || o != want {
				t.Errorf("%v, %v", o, err)
			}
		})
	}
	for _, text := range []string{"", "=x", "--wrap=x", "a b=c", "time=1\n#SBATCH --wrap=x", "a\nb", "a=\r"} {
		if o, err := engine.ParseOption(text); err == nil {
			t.Errorf("%q is %v", text, o)
		}
	}
}

// Names are DNS labels that Kubernetes takes for Jobs, with room for what it adds, and tell folders apart.
func TestJobName_IsADNSLabelThatTellsFoldersApart(t *testing.T) {
	label := regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	seen := map[string]bool{}
	for _, folder := range []string{"/a/results", "/b/results", "/x/Große Läufe_2", "/", "/" + strings.Repeat("long", 50), "/---"} {
		name := engine.JobName(filepath.Base(folder), folder)
		if !label.MatchString(name) || len(name) > 50 || seen[name] || name != engine.JobName(filepath.Base(folder), folder) {
			t.Errorf("%s is %q", folder, name)
		}
		seen[name] = true
	}
}
