package provenance

import (
	"math"

	"opl/policies/policyfile"
)

// Evidence is e, that rows of the log are known again.
func (j *Judge) Evidence(f *policyfile.File) float64 {
	e, _ := j.bet(f.History.Witnesses, make([]bool, j.log.Len()))
	return math.Exp(e)
}
