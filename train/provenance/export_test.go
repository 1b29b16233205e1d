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

// Finding is the judge of a log in which one check failed.
func Finding(log *logs.Log, check string) *Judge {
	return judge(log, inspect.Report{Gamma: 1, Findings: []inspect.Finding{{Check: check, Severity: inspect.Doubtful}}}, false)
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
