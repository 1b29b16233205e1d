package provenance

import (
	"math"

	"opl/policies/policyfile"
	"opl/train/inspect"
	"opl/train/logs"
)

// Evidence is e, that rows of the log are known again.
func (j *Judge) Evidence(f *policyfile.File) float64 {
	e, _ := j.bet(f.History.Witnesses, make([]bool, j.log.Len()), "")
	return math.Exp(e)
}

// Finding is the judge of a log in which one check of a subject failed.
func Finding(log *logs.Log, about inspect.Subject) *Judge {
	f := inspect.Finding{Check: "a check of any name", About: about, Severity: inspect.Doubtful}
	return judge(log, inspect.Report{Gamma: 1, Findings: []inspect.Finding{f}}, false)
}

// Lasting are the rows of each log that certify a policy that none taught.
func Lasting(ps ...*Judge) ([][]int, []string, error) {
	out := make([][]bool, len(ps))
	for k, j := range ps {
		out[k] = make([]bool, j.log.Len())
	}
	rows, _, notes, err := Pool(ps).lasting(out, make([][]bool, len(ps)))
	return rows, notes, err
}

// Lacks is what Reads says of names.
func Lacks(of string, reads, names []string) (string, error) { return lacks(of, reads, names) }
