package inspect_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"opl/policies/features"
	"opl/testdata/long"
	"opl/train/inspect"
	"opl/train/logs"
)

// columned is a log whose last columns may have been measured, or computed, after the decision.
type columned struct {
	n, k, segments int
	rate           float64
	effect         float64 // of segments and actions, of different actions in different segments
	peaked         float64 // the logging policy follows the segment
	all            bool    // propensities of all actions are logged
	group          int     // rows of a customer
	encoded        int     // 1: a column of each action's mean reward; 2: rounded to 3 digits; 3: of all actions; 4: shrunk; 5: standardized; 6: log-odds
	earlier        bool    // these means are of another log of the same world
	spent          float64 // factor on time spent after a reward of action 0; 0: there is no such column
	noise          int     // other columns
}

func (w columned) log(seed uint64) *logs.Log {
	r := rand.New(rand.NewPCG(seed, 56))
	world := rand.New(rand.NewPCG(seed, 57))
	rates := make([]float64, w.segments*w.k)
	for j := range rates {
		rates[j] = 1 / (1 + math.Exp(-math.Log(w.rate/(1-w.rate))-w.effect*world.NormFloat64()))
	}
	draw := func() (segment, action []int, reward, p []float64, all []float64) {
		s := 0
		pi := make([]float64, w.k)
		for i := range w.n {
			if w.group == 0 || i%w.group == 0 {
				s = min(r.IntN(w.segments), r.IntN(w.segments))
			}
			sum := 0.0
			for a := range pi {
				pi[a] = math.Exp(w.peaked * math.Sin(float64(3*a+s)))
				sum += pi[a]
			}
			a, u := 0, r.Float64()*sum
			for ; a < w.k-1 && u >= pi[a]; a++ {
				u -= pi[a]
			}
			got := 0.0
			if r.Float64() < rates[s*w.k+a] {
				got = 1
			}
			segment, action, reward, p = append(segment, s), append(action, a), append(reward, got), append(p, pi[a]/sum)
			for _, v := range pi {
				all = append(all, v/sum)
			}
		}
		return
	}
	segment, action, reward, p, all := draw()
	of, on, earned := segment, action, reward
	if w.earlier {
		of, on, earned, _, _ = draw()
	}
	mean := func(s, a int) float64 {
		sum, n := 0.0, 0.0
		if w.encoded == 4 {
			sum, n = 5*w.rate, 5
		}
		for i := range of {
			if of[i] == s && (on[i] == a || w.encoded == 3) {
				sum, n = sum+earned[i], n+1
			}
		}
		v := sum / max(1, n)
		if w.encoded == 2 {
			v = math.Round(v*1000) / 1000
		}
		return v
	}
	l := &logs.Log{Actions: logs.Numbered(w.k)}
	table := make([]float64, w.segments*w.k)
	for j := range table {
		table[j] = mean(j/w.k, j%w.k)
	}
	w.scale(table)
	var data []float64
	width := 0
	for i, a := range action {
		row := []float64{float64(segment[i]), r.NormFloat64()}
		for range w.noise {
			row = append(row, r.ExpFloat64())
		}
		switch {
		case w.encoded == 3:
			row = append(row, table[segment[i]*w.k])
		case w.encoded > 0:
			row = append(row, table[segment[i]*w.k:(segment[i]+1)*w.k]...)
		}
		if w.spent > 0 {
			t := r.ExpFloat64()
			if a == 0 && reward[i] == 1 {
				t *= w.spent
			}
			row = append(row, t)
		}
		width = len(row)
		data = append(data, row...)
		l.Action, l.Cost, l.Propensity = append(l.Action, int32(a)), append(l.Cost, -reward[i]), append(l.Propensity, p[i])
		if w.group > 0 {
			l.Group = append(l.Group, int32(i/w.group))
		}
	}
	if w.all {
		l.Propensities = all
	}
	l.X = logs.Rows64{Width: width, Data: data}
	return l
}

// scale changes columns as encodings are before they are learned from.
func (w columned) scale(table []float64) {
	for a := range w.k {
		var column []float64
		for s := range w.segments {
			column = append(column, table[s*w.k+a])
		}
		mean, deviation := stat.MeanStdDev(column, nil)
		for s, v := range column {
			switch w.encoded {
			case 5:
				v = (v - mean) / deviation
			case 6:
				v = math.Log((v + .01) / (1.01 - v))
			}
			table[s*w.k+a] = v
		}
	}
}

// Means of the log's own rewards as columns are found in 19 of 20 logs, and columns that were measured after the
// decision in half.
func TestColumns_ThatKnowTheRewardAreFound(t *testing.T) {
	seeds := 4
	if os.Getenv("OPL_LONG") != "" {
		seeds = 40
	}
	for name, w := range map[string]columned{
		"encoded":               {n: 4000, k: 3, segments: 8, rate: .3, effect: .5, encoded: 1},
		"encoded, two segments": {n: 4000, k: 3, segments: 2, rate: .3, effect: .5, encoded: 1},
		"encoded, fifty":        {n: 6000, k: 3, segments: 50, rate: .3, effect: .5, encoded: 1},
		"encoded, rare":         {n: 10000, k: 4, segments: 12, rate: .03, effect: .5, encoded: 1},
		"encoded, rounded":      {n: 4000, k: 3, segments: 8, rate: .3, effect: .5, encoded: 2, noise: 5},
		"encoded, of all":       {n: 4000, k: 3, segments: 12, rate: .3, effect: .5, encoded: 3},
		"encoded, shrunk":       {n: 6000, k: 3, segments: 12, rate: .3, effect: .5, encoded: 4},
		"standardized":          {n: 4000, k: 3, segments: 12, rate: .3, encoded: 5},
		"standardized, few":     {n: 6000, k: 4, segments: 8, rate: .1, effect: .5, encoded: 5},
		"log-odds":              {n: 6000, k: 3, segments: 30, rate: .2, effect: .3, encoded: 6},
		"encoded, peaked":       {n: 6000, k: 5, segments: 10, rate: .3, effect: .5, peaked: 1, encoded: 1},
		"spent, twice":          {n: 6000, k: 3, segments: 8, rate: .2, effect: .5, spent: 2},
		"spent, thrice":         {n: 4000, k: 3, segments: 8, rate: .2, effect: .5, spent: 3, noise: 5},
		"spent, half":           {n: 10000, k: 3, segments: 8, rate: .3, effect: .5, spent: .4},
		"spent, all known":      {n: 4000, k: 3, segments: 8, rate: .2, effect: .5, spent: 2.5, all: true, peaked: 1},
		"spent, logged":         {n: 6000, k: 3, segments: 8, rate: .2, effect: .5, spent: 2.5, peaked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			check, least := "columns that know the reward", 19*seeds/20
			if w.spent > 0 {
				check, least = "columns that know the action", seeds/2
			}
			found := 0
			for s := range uint64(seeds) {
				r := inspect.Inspect(w.log(s))
				f, ok := r.Finding(check)
				if ok {
					found++
					if f.About != inspect.Columns || f.Severity != inspect.Doubtful || !strings.Contains(f.Measured, "feature ") {
						t.Errorf("%+v", f)
					}
				} else if f, ok := r.Finding("bets on propensities"); ok && f.Severity == inspect.Unusable && w.spent > 0 {
					found++
				}
				if s == 0 {
					t.Log(f.Measured)
				}
			}
			t.Logf("%-24s %d of %d found", name, found, seeds)
			if found < least {
				t.Errorf("%d of %d found", found, seeds)
			}
		})
	}
}

// Columns that were known before are not doubted, whatever actions earn where, and if they are true means or those of
// an earlier log.
func TestColumns_KnownBeforePass(t *testing.T) {
	long.Test(t)
	seeds := 2
	if os.Getenv("OPL_LONG") != "" {
		seeds = 40
	}
	alarms, of := 0, 0
	for name, w := range map[string]columned{
		"plain":           {n: 4000, k: 3, segments: 8, rate: .3, effect: 1},
		"earlier":         {n: 4000, k: 3, segments: 8, rate: .3, effect: .5, encoded: 1, earlier: true},
		"earlier, many":   {n: 4000, k: 3, segments: 60, rate: .3, effect: .5, encoded: 1, earlier: true},
		"earlier, of all": {n: 6000, k: 3, segments: 10, rate: .1, effect: .5, encoded: 3, earlier: true},
		"earlier, rare":   {n: 8000, k: 3, segments: 10, rate: .02, effect: .5, encoded: 2, earlier: true},
		"earlier, z":      {n: 6000, k: 3, segments: 40, rate: .1, effect: .5, encoded: 5, earlier: true},
		"earlier, logit":  {n: 6000, k: 3, segments: 40, rate: .3, effect: .5, encoded: 6, earlier: true},
		"rare, in few":    {n: 6000, k: 3, segments: 40, rate: .02, encoded: 2, earlier: true},
		"spent alike":     {n: 4000, k: 3, segments: 8, rate: .3, effect: 1, spent: 1},
		"peaked":          {n: 6000, k: 5, segments: 10, rate: .3, effect: 1, peaked: 2, noise: 20, spent: 1},
		"peaked, all":     {n: 6000, k: 5, segments: 10, rate: .3, effect: 1, peaked: 2, noise: 20, spent: 1, all: true},
		"groups":          {n: 6000, k: 3, segments: 10, rate: .3, effect: 1, peaked: 1, noise: 10, group: 6},
		"many actions":    {n: 10000, k: 60, segments: 10, rate: .1, effect: 1, peaked: 1, noise: 10},
		"few rows":        {n: 300, k: 4, segments: 5, rate: .3, effect: 1, peaked: 1, noise: 30},
	} {
		bad := 0
		for s := range uint64(seeds) {
			if f, ok := inspect.Inspect(w.log(s + 500)).Doubts(inspect.Columns); ok {
				bad++
				t.Logf("%s, seed %d: %s", name, s, f.Measured)
			}
		}
		t.Logf("%-24s %d of %d", name, bad, seeds)
		alarms, of = alarms+bad, of+seeds
	}
	if 100*alarms > of {
		t.Errorf("%d of %d sound logs are doubted", alarms, of)
	}
}

// Rows without a group that repeat like customers are named, and are no doubt.
func TestVisits_WithoutAGroupAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		each    int  // rows of a customer
		fixed   bool // customers have columns of their own
		grouped bool
		alone   bool // no other columns
		kept    bool // a customer's action
		found   bool
	}{
		"customers":        {each: 5, fixed: true, found: true},
		"without visits":   {each: 5, fixed: true, alone: true, found: true},
		"alone, by chance": {each: 5, alone: true},
		"in groups":        {each: 5, fixed: true, grouped: true},
		"visits":           {each: 5},
		"once each":        {each: 1, fixed: true},
		"of few customers": {each: 200, fixed: true},
		"actions kept":     {each: 5, fixed: true, kept: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(4, 4))
			l := &logs.Log{Actions: logs.Numbered(3)}
			var data []float64
			const n = 4000
			ages, incomes := make([]float64, n), make([]float64, n)
			for i := range n {
				ages[i], incomes[i] = float64(20+r.IntN(60)), math.Round(r.NormFloat64()*1000)
			}
			for range n {
				u := r.IntN(n / c.each)
				age, income := ages[u], incomes[u]
				if !c.fixed {
					age, income = float64(20+r.IntN(60)), math.Round(r.NormFloat64()*300)
				}
				if c.each == 1 {
					income = r.NormFloat64()
				}
				visit := r.NormFloat64()
				if c.alone {
					visit, income = 0, math.Round(income/100)
				}
				data = append(data, age, income, visit)
				action := r.IntN(3)
				if c.kept {
					action = u % 3
				}
				l.Action, l.Cost = append(l.Action, int32(action)), append(l.Cost, -float64(r.IntN(2)))
				l.Propensity = append(l.Propensity, 1./3)
				if c.grouped {
					l.Group = append(l.Group, int32(u))
				}
			}
			l.X = logs.Rows64{Width: 3, Data: data}
			report := inspect.Inspect(l)
			f, ok := report.Finding("customers without group")
			if ok != c.found || f.Severity != inspect.Fine {
				t.Errorf("found %v: %+v", ok, f)
			}
			if f, ok := report.Finding("actions kept"); ok != c.kept || ok && (f.Severity != inspect.Doubtful || f.About != inspect.Draws) {
				t.Errorf("%+v", f)
			}
			t.Log(f.Measured)
			all, err := inspect.Combine(cut(t, l, 2))
			if err != nil {
				t.Fatal(err)
			}
			if f, ok := all.Finding("actions kept"); ok != c.kept || ok && (f.Severity != inspect.Doubtful || f.About != inspect.Draws) {
				t.Errorf("in shards: %+v", f)
			}
		})
	}
}

// Mean rewards of actions, or of a segment, in this log are found where rows offer sets; those of an earlier log are not.
func TestColumns_OfSetsThatKnowTheReward(t *testing.T) {
	const n, k, segments, seeds = 3000, 60, 100, 6
	for _, what := range []string{"actions", "segments", "an earlier log"} {
		found := 0
		for seed := range uint64(seeds) {
			r := rand.New(rand.NewPCG(seed, 77))
			draw := func() (offered [][]int, chosen, segment []int, reward []float64, means, of [k + segments]float64) {
				for i := range n {
					offered, chosen, segment = append(offered, r.Perm(k)[:5]), append(chosen, r.IntN(5)), append(segment, r.IntN(segments))
					reward = append(reward, float64(r.IntN(10)/7))
					for _, j := range []int{offered[i][chosen[i]], k + segment[i]} {
						means[j], of[j] = means[j]+reward[i], of[j]+1
					}
				}
				for j := range means {
					means[j] /= max(1, of[j])
				}
				return
			}
			offered, chosen, segment, reward, means, _ := draw()
			if what == "an earlier log" {
				_, _, _, _, means, _ = draw()
			}
			var all []logs.Decision
			for i, of := range offered {
				d := logs.Decision{Action: chosen[i], Cost: -reward[i], Propensity: .2, Weight: 1, Propensities: []float64{.2, .2, .2, .2, .2},
					Context: []features.Value{{Name: "x", Number: r.NormFloat64()}}}
				if what != "actions" {
					d.Context = append(d.Context, features.Value{Name: "segment", Number: means[k+segment[i]]})
				}
				for _, a := range of {
					offer := logs.Offer{Action: fmt.Sprint("i", a), Features: []features.Value{{Name: "price", Number: float64(a)}}}
					if what != "segments" {
						offer.Features = append(offer.Features, features.Value{Name: "ctr", Number: means[a]})
					}
					d.Offered = append(d.Offered, offer)
				}
				all = append(all, d)
			}
			l, err := logs.Collect(nil, all)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := inspect.Inspect(l).Finding("columns that know the reward"); ok {
				found++
			}
		}
		if earlier := what == "an earlier log"; earlier && found > 0 || !earlier && found < seeds {
			t.Errorf("%s: found in %d of %d logs", what, found, seeds)
		}
	}
}

// Mean rewards of the items of lists are found where they are of this log.
func TestColumns_OfListsThatKnowTheReward(t *testing.T) {
	const n, items = 1500, 40
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 79))
		draw := func() (offered [n][]int, clicked [n][2]int, means [items]float64) {
			var of [items]float64
			for i := range n {
				offered[i] = r.Perm(items)[:4] // of which the first two are shown
				for slot := range 2 {
					clicked[i][slot] = r.IntN(10) / 7
					means[offered[i][slot]] += float64(clicked[i][slot])
					of[offered[i][slot]]++
				}
			}
			for j := range means {
				means[j] /= max(1, of[j])
			}
			return offered, clicked, means
		}
		offered, clicked, here := draw()
		_, _, earlier := draw()
		for name, means := range map[string][items]float64{"this log": here, "an earlier log": earlier} {
			var b strings.Builder
			for i, of := range offered {
				fmt.Fprintf(&b, `{"x_u":%v,"slots":["i%d","i%d"],"slot_propensities":[0.25,0.3333333333],"slot_rewards":[%d,%d],"actions":[`,
					i*7%13, of[0], of[1], clicked[i][0], clicked[i][1])
				for j, id := range slices.Sorted(slices.Values(of)) {
					fmt.Fprintf(&b, `%s{"id":"i%d","ctr":%v}`, strings.Repeat(",", min(j, 1)), id, means[id])
				}
				b.WriteString("]}\n")
			}
			log := written(t, "l.jsonl", b.String())
			if _, found := inspect.Inspect(log).Finding("columns that know the reward"); found != (name == "this log") {
				t.Errorf("seed %d, %s: found %t", seed, name, found)
			}
		}
	}
}

// Means of few rewards each, which are no whole numbers, are found where they are of this log.
func TestColumns_ThatKnowTheRewardOfFewRows(t *testing.T) {
	const n = 3000
	for _, segments := range []int{300, 600, 1500} {
		for seed := range uint64(10) {
			r := rand.New(rand.NewPCG(seed, 78))
			draw := func() (segment []int, reward, means []float64) {
				of := make([]float64, segments)
				means = make([]float64, segments)
				for i := range n {
					segment, reward = append(segment, r.IntN(segments)), append(reward, math.Pow(r.Float64(), 2))
					means[segment[i]] += reward[i]
					of[segment[i]]++
				}
				for s := range means {
					means[s] = math.Round(1e4*means[s]/max(1, of[s])) / 1e4
				}
				return segment, reward, means
			}
			segment, reward, here := draw()
			_, _, earlier := draw()
			for name, means := range map[string][]float64{"this log": here, "an earlier log": earlier} {
				l := &logs.Log{Actions: logs.Numbered(2)}
				var x []float64
				for i, s := range segment {
					x = append(x, means[s])
					l.Action, l.Cost, l.Propensity = append(l.Action, int32(r.IntN(2))), append(l.Cost, -reward[i]), append(l.Propensity, .5)
				}
				l.X = logs.Rows64{Width: 1, Data: x}
				if _, found := inspect.Inspect(l).Finding("columns that know the reward"); found != (name == "this log") {
					t.Errorf("%d segments, seed %d, %s: found %t", segments, seed, name, found)
				}
			}
		}
	}
}

// Thousands of actions, none of many rows, are no reason to stop.
func TestInspect_TakesRareActions(t *testing.T) {
	for _, k := range []int{2, 1000} {
		l := columned{n: 3000, k: k, segments: 8, rate: .3, encoded: 3}.log(1)
		if _, ok := inspect.Inspect(l).Finding("columns that know the reward"); !ok {
			t.Errorf("%d actions: not found", k)
		}
	}
}

// Propensities that are near 0 and 1 let a few rows say how often an action is taken everywhere, which is no sign of a
// column where it is certain.
func TestColumns_AreNotBlamedForSharpPropensities(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 12))
		const n = 3000
		l := &logs.Log{Actions: logs.Numbered(2)}
		data := make([]float64, 0, 2*n)
		slope := 3 * r.NormFloat64()
		for range n {
			x := r.NormFloat64()
			p := .05 + .9/(1+math.Exp(-slope*x))
			action := int32(0)
			if r.Float64() >= p {
				action, p = 1, 1-p
			}
			data = append(data, x, r.NormFloat64())
			l.Action, l.Propensity = append(l.Action, action), append(l.Propensity, p)
			l.Cost = append(l.Cost, -float64(r.IntN(2)))
		}
		l.X = logs.Rows64{Width: 2, Data: data}
		if f, found := inspect.Inspect(l).Finding("columns that know the action"); found {
			t.Errorf("seed %d: %s", seed, f.Measured)
		}
	}
}
