package policyfile_test

import (
	"encoding/json"
	"strings"
	"testing"

	"opl/policies/policyfile"
)

// A certificate is coherent, or the file is refused, when it is written and when it is read.
func TestCertificate_IsRefusedUnlessCoherent(t *testing.T) {
	const sound = `{"guaranteed":0.2,"delta":0.05,"verdict":"better","bounds":[{"risk":-0.2,"delta":0.025}],` +
		`"gain":{"risk":-0.1,"delta":0.025},"estimate":{"reward":0.3},"reward_min":0,"reward_max":1}`
	for name, c := range map[string]struct{ from, to, want string }{
		"sound":                       {"", "", ""},
		"no promise":                  {sound, `{"n":5}`, ""},
		"of old":                      {`"gain":{"risk":-0.1,"delta":0.025}`, `"logging_upper":0.1`, ""},
		"out of range":                {`{"guaranteed":0.2`, `{"guaranteed":7`, "guaranteed is 7"},
		"negative":                    {`{"guaranteed":0.2`, `{"guaranteed":-0.1`, "guaranteed is -0.1"},
		"above its bounds":            {`{"guaranteed":0.2`, `{"guaranteed":0.5`, "its bounds say 0.2"},
		"below its bounds":            {`{"guaranteed":0.2`, `{"guaranteed":0.1`, "its bounds say 0.2"},
		"delta":                       {`"delta":0.05`, `"delta":-1`, "delta is -1"},
		"delta of a bound":            {`-0.2,"delta":0.025`, `-0.2,"delta":0.5`, "share of delta"},
		"verdict":                     {`"better"`, `"golden"`, `the verdict "golden"`},
		"better without a gain":       {`"risk":-0.1`, `"risk":0.1`, "no bound on the gain above 0"},
		"better of old without one":   {`"gain":{"risk":-0.1,"delta":0.025}`, `"logging_upper":0.3`, "no bound on the gain above 0"},
		"vacuous with a guarantee":    {`"better"`, `"vacuous"`, "a reward of 0.2 is guaranteed"},
		"risk below that of a reward": {`"risk":-0.2`, `"risk":-2`, "no risk of at least"},
		"other rewards":               {`"reward_max":1`, `"reward_max":100`, "its range of rewards"},
		"no bounds":                   {`[{"risk":-0.2,"delta":0.025}]`, `[]`, "wants guaranteed, delta, verdict and bounds"},
		"no verdict":                  {`"verdict":"better",`, ``, "wants guaranteed, delta, verdict and bounds"},
		"rows below 0":                {`{"guaranteed"`, `{"n":-5,"guaranteed"`, "out of their ranges"},
		"more rows than the log":      {`{"guaranteed"`, `{"n":9,"rows":5,"guaranteed"`, "out of their ranges"},
		"kl below 0":                  {`{"guaranteed"`, `{"kl":-1,"guaranteed"`, "out of their ranges"},
		"logged too much":             {`{"guaranteed"`, `{"logged":9,"guaranteed"`, "out of their ranges"},
		"propensities within less":    {`{"guaranteed"`, `{"gamma":0.1,"guaranteed"`, "out of their ranges"},
		"ships what holds": {`{"guaranteed"`, `{"decision":{"answer":"ship","outcomes":[{"name":"a","verdict":"holds",` +
			`"at_most":true,"limit":0.3,"bound":0.2}]},"guaranteed"`, ""},
		"ships what is not kept": {`{"guaranteed"`, `{"decision":{"answer":"ship","outcomes":[{"name":"a",` +
			`"verdict":"violated","limit":0.3,"bound":0.4}]},"guaranteed"`, `the limit of "a" is not shown to hold`},
		"holds beyond its bound": {`{"guaranteed"`, `{"decision":{"answer":"undecided","outcomes":[{"name":"a",` +
			`"verdict":"holds","at_most":true,"limit":0.3,"bound":0.4}]},"guaranteed"`, `the limit of "a" is not shown to hold`},
		"a text": {`{"guaranteed":0.2`, `{"guaranteed":"much"`, "the certificate: "},
	} {
		t.Run(name, func(t *testing.T) {
			f := example(t, policyfile.Softmax, 3, 2, 1)
			f.Certificate = json.RawMessage(sound)
			if c.from != "" {
				f.Certificate = json.RawMessage(strings.Replace(sound, c.from, c.to, 1))
			}
			p, err := policyfile.New(f)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want %q", err, c.want)
			}
			if v, ok := f.Guaranteed(); name == "sound" && (p == nil || !ok || v != .2) || name == "no promise" && ok {
				t.Errorf("%v, %t", v, ok)
			}
		})
	}
}
