package inspect

import (
	"fmt"
	"math"
	"strings"

	"opl/train/internal/keys"
)

const (
	customersLeast = 100 // different values of a column that may be a customer's
	customersRows  = 20_000
	customersMost  = 8 // such columns that are looked at
	customersKept  = 6 // z of actions that are kept
)

// customers says where rows without a group repeat like those of customers: all their columns together repeat more
// than each alone would let them, or rows of the same value of a column that has many agree in others, which do not
// agree by chance. Such rows may depend on one another, which no test of the log can show: it is a note, and no doubt.
// Where they also take the same action beyond chance it is a doubt.
func (o *outcomeTest) customers() {
	if o.Group != nil {
		return
	}
	rows := min(len(o.rows), customersRows)
	say := func(what string, different int, agree string) {
		o.add(Finding{Check: "customers without group",
			Measured: fmt.Sprintf("%d rows have %d different values of %s%s, as rows of customers who come back do",
				rows,
				different, what, agree),
			Means: "a guarantee takes rows without a group for independent ones: if they are of customers, it speaks " +
				"of these, not of others",
			Do: "name the customer in the column group; nothing, if rows are of different customers"})
	}
	if n, apart := o.together(rows, false), o.together(rows, true); n >= customersLeast &&
		2*n < apart {
		say("all columns together", n, "")
		return
	}
	looked := 0
	for c, values := range o.values {
		different, seen := 0, keys.NewFilter(rows) // at least so many
		for _, v := range values[:rows] {
			if h := math.Float64bits(v + 0); !seen.Has(h) {
				seen.Add(h)
				different++
			}
		}
		if different > rows*2/3 {
			continue
		}
		first := map[float64]int{} // a row of each value
		of, pairs, agree, chance := make([]int, rows), 0, make([]int, len(o.values)), make([]int, len(o.values))
		for r, v := range values[:rows] {
			if _, seen := first[v]; !seen {
				first[v] = r
			}
			of[r] = first[v]
		}
		if len(first) < customersLeast || len(first) > rows*2/3 {
			continue
		}
		if ratio, z := o.kept(of); ratio > 1.2 && z > customersKept {
			o.add(Finding{Check: actionsKept, About: Draws, Severity: Doubtful, Numbers: []Number{{"z", z}},
				Measured: fmt.Sprintf("rows take the action of an earlier row with the same %s %.3g times as often as "+
					"propensities say, z = %.1f", o.name(c), ratio, z),
				Means: "a customer keeps an action that was drawn once: rows are fewer draws than they look",
				Do:    "name the customer in the column group"})
			return
		}
		for r, f := range of {
			if f == r {
				continue
			}
			pairs++
			other := (r*7 + rows/2) % rows
			for k, values := range o.values {
				if values[f] == values[r] {
					agree[k]++
				}
				if values[other] == values[r] {
					chance[k]++
				}
			}
		}
		var with []string
		for k := range o.values {
			if k != c && 2*agree[k] >= pairs && 5*chance[k] < pairs {
				with = append(with, o.name(k))
			}
		}
		if len(with) > 0 {
			if len(with) > 3 {
				with = append(with[:3], "…")
			}
			say(o.name(c), len(first), ", and those of one value agree in "+strings.Join(with, ", "))
			return
		}
		if looked++; looked == customersMost {
			return
		}
	}
}

// actionsKept names the check.
const actionsKept = "actions kept"

// kept compares how often rows take the action of the first row of their value, of[r], with how often they would if
// each action was drawn anew: Σ 1{a_r = a_of[r]}/p_r has at most the mean of their number. Without the least p its
// variance is known well enough.
func (o *outcomeTest) kept(of []int) (ratio, z float64) {
	got, want, variance := 0.0, 0.0, 0.0
	for r, f := range of {
		if f == r {
			continue
		}
		want++
		i := o.rows[r]
		if p := o.Propensity[i]; p >= .02 && o.Action[i] == o.Action[o.rows[f]] {
			got, variance = got+1/p, variance+(1-p)/p/p
		}
	}
	if !(want > 0) {
		return 1, 0
	}
	return got / want, counted(got, want*o.rounded(got/want), variance)
}

// together counts the different rows of all columns, or, if each column is moved by other rows, what would be.
func (o *outcomeTest) together(rows int, apart bool) int {
	all := make([]uint64, rows)
	for c, values := range o.values {
		at := 0
		if apart {
			at = (c + 1) * (rows/(len(o.values)+1) + 1) % rows
		}
		for r := range all {
			all[r] = keys.Mix(all[r] ^ math.Float64bits(values[at]))
			if at++; at == rows {
				at = 0
			}
		}
	}
	return rows - keys.Again(all)
}
