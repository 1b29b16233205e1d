package engine

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// plain is what a shell takes for itself without quotes.
var plain = regexp.MustCompile(`^[a-zA-Z0-9_./,:=+@%-]+$`)

// shell is a command line of words, with variable in place of Index.
func shell(words []string, variable string) string {
	quote := func(s string) string {
		if s == "" || plain.MatchString(s) {
			return s
		}
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	line := make([]string, len(words))
	for i, w := range words {
		parts := strings.Split(w, Index)
		for j, p := range parts {
			parts[j] = quote(p)
		}
		if line[i] = strings.Join(parts, `"$`+variable+`"`); w == "" {
			line[i] = "''"
		}
	}
	return strings.Join(line, " ")
}

// Slurm returns the batch scripts of some parts, as an array job, if there are any, and of the merge. Options become lines
// #SBATCH of both.
func (w Work) Slurm(parts []int) (files []File, err error) {
	if err := w.taken("array", "dependency", "job-name", "output", "error", "chdir", "parsable",
		"wrap"); err != nil {
		return nil, err
	}
	if strings.ContainsAny(w.Folder+w.Logs, "\n\"\\%") {
		return nil, fmt.Errorf("engine: Slurm cannot write to folders named %q and %q", w.Folder, w.Logs)
	}
	script := func(name, log, array, command string) File {
		var b bytes.Buffer
		fmt.Fprintf(&b, "#!/bin/sh\n#SBATCH --job-name=%s\n#SBATCH --chdir=\"%s\"\n#SBATCH "+
			"--output=\"%s\"\n#SBATCH --open-mode=append\n#SBATCH --requeue\n",
			w.Name+strings.TrimPrefix("-"+name, "-shards"), w.Folder, filepath.Join(w.Logs, log))
		for _, o := range append([]Option{{"array", array}}, w.Options...) {
			switch {
			case o.Key == "array" && array == "":
			case o.Value == "":
				fmt.Fprintf(&b, "#SBATCH --%s\n", o.Key)
			default:
				fmt.Fprintf(&b, "#SBATCH --%s=\"%s\"\n", o.Key, strings.ReplaceAll(o.Value, `"`, `\"`))
			}
		}
		fmt.Fprintf(&b, "export GOMAXPROCS=\"${SLURM_CPUS_PER_TASK:-1}\"\nexec %s\n", command)
		return File{name + ".sh", b.Bytes()}
	}
	if len(parts) > 0 {
		var list []string
		for _, p := range parts {
			list = append(list, strconv.Itoa(p))
		}
		files = append(files, script("shards", "%a.log", strings.Join(list, ","), shell(w.Part, "SLURM_ARRAY_TASK_ID")))
	}
	return append(files, script("merge", "merge.log", "", shell(w.Merge, ""))), nil
}

// slurm are the commands that submit scripts, the last once the one before it has ended, however it ended.
func slurm(files []File) []string {
	after, last := "", files[len(files)-1].Name
	if len(files) > 1 { // a cluster may follow the number of the job
		after = fmt.Sprintf("--dependency=afterany:$(sbatch --parsable %s | cut -d';' -f1) ", files[0].Name)
	}
	return []string{"sbatch " + after + last}
}
