package provenance_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"opl/testdata/lists"
	"opl/testdata/long"
	"opl/train/certify"
	"opl/train/inspect"
	"opl/train/logs"
	"opl/train/provenance"
)

// listLog is a log of n lists of a world.
func listLog(t *testing.T, w lists.World, n int, seed uint64, o logs.Options) *logs.Log {
	t.Helper()
	var text bytes.Buffer
	if err := w.Write(&text, n, seed); err != nil {
		t.Fatal(err)
	}
	return openLists(t, text.String(), o)
}

func openLists(t *testing.T, text string, o logs.Options) *logs.Log {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lists.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o.NoCache = true
	log, err := logs.Open(context.Background(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return log
}

// backwards is a policy that is Plackett–Luce, and prefers items by their place in the world.
func backwards(left []int) []float64 {
	p, sum := make([]float64, len(left)), 0.
	for j, a := range left {
		p[j] = math.Exp(0.8 * float64(a%2))
		sum += p[j]
	}
	for j := range p {
		p[j] /= sum
	}
	return p
}

// played is that policy on a log.
func played(log *logs.Log) certify.Policy {
	return func(dst []float64, i int) error {
		left := make([]int, log.Options(i))
		for j := range left {
			a, _ := log.Option(i, j)
			left[j] = int(a)
		}
		copy(dst, backwards(left))
		return nil
	}
}

func certified(t *testing.T, log *logs.Log) (provenance.Statement, error) {
	t.Helper()
	rows := make([]int, log.Len())
	for i := range rows {
		rows[i] = i
	}
	c, err := provenance.New(log).Fixed(played(log), provenance.FixedBefore(), rows, certify.Options{})
	if err != nil {
		return provenance.Statement{}, err
	}
	return c.Statement(), nil
}

// Where slots are assumed to be independent, a policy is asked for the lists that certify alone: others have no context
// in a log that was encoded for these.
func TestListsThatCertify_AreAllThatAPolicyIsAskedFor(t *testing.T) {
	log := listLog(t, lists.All()[0], 1500, 1, logs.Options{Assume: "independence"})
	rows := logs.Every(log.Len())[2250:]
	c, err := provenance.New(log).Fixed(func(dst []float64, i int) error {
		if i < rows[0] {
			return fmt.Errorf("row %d does not certify", i)
		}
		return played(log)(dst, i)
	}, provenance.FixedBefore(), rows, certify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s := c.Statement(); s.N != 750 || s.Guaranteed <= 0 {
		t.Errorf("%d lists guarantee %v", s.N, s.Guaranteed)
	}
	for assume, refused := range map[string]bool{"none": false, "cascade": false, "independence": true} {
		if log.Lists.Assume = assume; (provenance.Marginless(log) != nil) != refused {
			t.Errorf("%s: a floor: %v", assume, provenance.Marginless(log))
		}
	}
}

// A statement about lists counts lists, is that of the formula for each assumption, and names it.
func TestLists_AreCertifiedWhole(t *testing.T) {
	for _, w := range lists.All() {
		guaranteed := map[string]float64{}
		for _, assume := range certify.Assumptions() {
			log := listLog(t, w, 1500, 1, logs.Options{Assume: assume})
			s, err := certified(t, log)
			if assume == string(certify.Independence) && !w.Uniform {
				if err == nil || !strings.Contains(err.Error(), "setting logging-policy") {
					t.Errorf("%s: independence without marginals: %v", w.Name, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if s.N != 1500 || s.Groups != 0 || s.Lists == nil || s.Lists.Lists != 1500 || s.Lists.Slots != 4500 ||
				string(s.Lists.Assumption) != assume || s.Lists.Found == "" {
				t.Errorf("%s, %s: %d rows, %d groups, lists %+v", w.Name, assume, s.N, s.Groups, s.Lists)
			}
			guaranteed[assume] = s.Reward()
			// a second program: the product of slots by hand, for all that may be assumed
			var x, c float64
			policy, one := played(log), make([]float64, log.MostOptions())
			for i := 0; i < log.Len(); i += 3 {
				weight := [3]float64{}
				product := 1.
				for l := range 3 {
					if err := policy(one[:log.Options(i+l)], i+l); err != nil {
						t.Fatal(err)
					}
					product *= one[log.Chosen(i+l)] / log.Propensity[i+l]
					weight[l] = product
				}
				for l := range 3 {
					if assume == "none" {
						weight[l] = product
					}
					x += weight[l] * log.Cost[i+l] / 3
					c += log.Cost[i+l] / 3
				}
			}
			if assume != "independence" && math.Abs(-s.Logged-c/1500) > 1e-12 {
				t.Errorf("%s: logged %v, want %v", assume, s.Logged, -c/1500)
			}
			if bound := s.Best(); assume != "independence" && -x/1500 < -bound.Risk {
				t.Errorf("%s: guaranteed %v is above the estimate %v", assume, -bound.Risk, -x/1500)
			}
		}
		if w.Name != "interaction" && guaranteed["cascade"] <= guaranteed["none"] || w.Uniform && guaranteed["independence"] <= guaranteed["none"] {
			t.Errorf("%s: an assumption guarantees no more: %v", w.Name, guaranteed)
		}
	}
}

// largest plays the item that attracts most of what is left, and another with probability .05.
func largest(attraction []float64, left []int) []float64 {
	p, best := make([]float64, len(left)), 0
	for j, a := range left {
		if p[j] = .05 / float64(len(left)); attraction[a] > attraction[left[best]] {
			best = j
		}
	}
	p[best] += .95
	return p
}

// attracted is a Plackett–Luce policy that prefers items that attract.
func attracted(attraction []float64, left []int) []float64 {
	p, sum := make([]float64, len(left)), 0.
	for j, a := range left {
		p[j] = math.Exp(4 * attraction[a])
		sum += p[j]
	}
	for j := range p {
		p[j] /= sum
	}
	return p
}

// Over many logs, statements are false in at most δ of them where the assumption holds. Where it does not, the table says
// how many are, by how many lists there are, and how many of all logs and of the false ones are doubted.
func TestLists_FailAsRarelyAsPromised(t *testing.T) {
	long.Test(t)
	draws, many, seed0 := 5, []int{300}, 100
	if os.Getenv("OPL_LONG") != "" {
		draws, many = 400, []int{500}
	}
	if n, err := strconv.Atoi(os.Getenv("OPL_LOGS")); err == nil {
		draws, seed0 = n, 1000
	}
	for _, text := range strings.Fields(os.Getenv("OPL_ROWS")) {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		many = append(many, n)
	}
	worlds := lists.All()
	for _, w := range worlds[1:] {
		w.Uniform = true
		worlds = append(worlds, w)
	}
	for _, w := range worlds {
		best := func(v lists.Visit, left []int, _ int) []float64 { return attracted(v.Attraction, left) }
		most := func(v lists.Visit, left []int, _ int) []float64 { return largest(v.Attraction, left) }
		odd := func(_ lists.Visit, left []int, _ int) []float64 { return backwards(left) }
		for name, policy := range map[string]func(lists.Visit, []int, int) []float64{"odd": odd, "attracted": best, "largest": most} {
			value, logging := w.Value(20000, 1, policy)
			for _, assume := range certify.Assumptions() {
				holds := assume == "none" || w.Name == "independence" || w.Name == "cascade" && assume == "cascade"
				if !w.Uniform && assume == "independence" || name == "largest" && assume != "cascade" || os.Getenv("OPL_POLICY") != "" && os.Getenv("OPL_POLICY") != name || os.Getenv("OPL_HOLDS") == "no" && holds ||
					os.Getenv("OPL_HOLDS") == "yes" && !holds {
					continue
				}
				for _, n := range many {
					wrong, doubted, both, sum := 0, 0, 0, 0.
					for seed := range draws {
						log := listLog(t, w, n, uint64(seed0+seed), logs.Options{Assume: assume})
						s, doubt := stated(t, w, log, policy)
						log.Close()
						sum += s.Estimate.Reward / float64(draws)
						lies := s.Reward() > value || s.GainAtLeast() > value-logging
						if lies {
							wrong++
						}
						if doubt {
							doubted++
						}
						if lies && doubt {
							both++
						}
					}
					t.Logf("%s, uniform %v, %s, %s (holds: %v), %d lists: %d of %d statements are false, %d doubted, %d both; "+
						"value %.4f, estimated %.4f on average", w.Name, w.Uniform, name, assume, holds, n, wrong, draws, doubted, both,
						value, sum)
					if holds && (wrong > draws/20+3 || math.Abs(sum-value) > 0.05) {
						t.Errorf("%s, %s: %d of %d statements are false, estimate %v of %v", w.Name, assume, wrong, draws, sum,
							value)
					}
				}
			}
		}
	}
}

// stated is what is certified of a policy of visits, and whether the assumption about slots is doubted.
func stated(t *testing.T, w lists.World, log *logs.Log, of func(lists.Visit, []int, int) []float64) (
	provenance.Statement, bool) {
	t.Helper()
	row := func(dst []float64, i int) error {
		v, left := lists.Visit{}, make([]int, log.Options(i))
		var x [2]float64
		var d logs.Decision
		log.Decision(i, &d)
		for _, c := range d.Context {
			switch c.Name {
			case "x0":
				x[0] = c.Number
			case "x1":
				x[1] = c.Number
			}
		}
		v.Attraction = w.Attractions(x[0], x[1])
		for j := range left {
			a, _ := log.Option(i, j)
			left[j] = int(log.Actions[a][1] - '0')
		}
		copy(dst, of(v, left, 0))
		return nil
	}
	rows := make([]int, log.Len())
	for i := range rows {
		rows[i] = i
	}
	judge := provenance.New(log)
	c, err := judge.Force().Fixed(row, provenance.FixedBefore(), rows, certify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	doubt := c.Statement().Contradicted != ""
	return c.Statement(), doubt
}

// What cannot be is refused, with the place.
func TestLists_RefuseWhatCannotBe(t *testing.T) {
	line := func(slots, ps, rest string) string {
		return `{"offered":["a","b","c"],"slots":` + slots + `,"slot_propensities":` + ps + `,` + rest + `}` + "\n"
	}
	good := line(`["a","b"]`, `[0.4,0.5]`, `"slot_rewards":[0,1]`)
	for _, c := range []struct{ text, want string }{
		{line(`["a","a"]`, `[0.4,0.5]`, `"slot_rewards":[0,1]`), `column slots: "a" is shown twice`},
		{line(`["a","d"]`, `[0.4,0.5]`, `"slot_rewards":[0,1]`), `column slots: "d" was not offered`},
		{line(`["a","b"]`, `[0.4,0]`, `"slot_rewards":[0,1]`), `slot_propensities: 0 of slot 2 is outside (0, 1]`},
		{line(`["a","b"]`, `[1.3,0.5]`, `"slot_rewards":[0,1]`), `1.3 of slot 1 is outside (0, 1]`},
		{line(`["a","b"]`, `[0.3]`, `"slot_rewards":[0,1]`), `slot_propensities: 1 of them for 2 slots`},
		{line(`["a","b"]`, `[0.4,0.5]`, `"slot_rewards":[0]`), `slot_rewards: 1 of them for 2 slots`},
		{line(`["a","b"]`, `[0.4,0.5]`, `"slot_rewards":[0,2]`), `reward 2 is outside [0, 1]`},
		{line(`["a","b"]`, `[0.4,0.5]`, `"slot_rewards":[0,1],"propensity":0.15`), `column propensity: the row has slot_propensities, too`},
		{line(`["a","b"]`, `[0.4,0.5]`, `"slot_rewards":[0,1],"reward":1`), `exactly one of them must be there`},
		{line(`["a","b"]`, `[0.4,0.5]`, `"first_click":3`), `column first_click: 3 is no slot: want 1 to 2`},
		{line(`[]`, `[]`, `"slot_rewards":[]`), `column slots: no action was shown`},
		{line(`["a","b"]`, `[0.4,0.5]`, `"slot_rewards":[0,1],"action":"a"`), `column action: the row has a list`},
		{line(`["a","b"]`, `[0.4,0.5]`, `"slot_rewards":[0,1],"slate_id":"s","slot":1`),
			`column slate_id: the row has a list`},
		{`{"slots":["a","b"],"slot_propensities":[0.5,1],"slot_rewards":[0,1]}`, `column offered: missing: lists need`},
		{good + `{"offered":["a","b"],"action":"a","propensity":0.5,"reward":1}`, "column reward: rows before have slot_rewards instead"},
		{`{"offered":["a","b"],"action":"a","propensity":0.5,"reward":1}` + "\n" + good, "column slots: the row has other"},
		{good + line(`["a","b"]`, `[0.4,0.5]`, `"first_click":1`), "column slots: the row has other columns"},
		{line(`"ab"`, `[0.4,0.5]`, `"slot_rewards":[0,1]`), "column slots: \"ab\" is not a list"},
	} {
		path := filepath.Join(t.TempDir(), "bad.jsonl")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		log, err := logs.Open(context.Background(), path, logs.Options{NoCache: true})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
		if err == nil {
			log.Close()
		}
	}
	log := openLists(t, strings.Repeat(good, 50), logs.Options{})
	if log.Len() != 100 || log.Lists == nil || log.Lists.Of[99] != 49 || log.Lists.Slot[99] != 2 || log.Options(1) != 2 {
		t.Errorf("%d rows, lists %+v", log.Len(), log.Lists)
	}
	rows := make([]int, log.Len())
	of := func(text string, rows []int, o logs.Options) error {
		log := openLists(t, strings.Repeat(text, 50), o)
		_, err := provenance.New(log).Force().Fixed(played(log), provenance.FixedBefore(), rows, certify.Options{})
		return err
	}
	for i := range rows {
		rows[i] = i
	}
	for _, c := range []struct {
		text string
		rows []int
		logs.Options
		want string
	}{
		{good, rows[:3], logs.Options{}, "a list counts as a whole"},
		{strings.ReplaceAll(good, `"slot_rewards":[0,1]`, `"reward":0.5`), rows, logs.Options{Assume: "cascade"},
			"is about rewards of slots"},
		{strings.ReplaceAll(good, "[0,1]", "[1,1]"), rows, logs.Options{SlotWeights: "sum"}, "add up to 2"},
		{good, rows, logs.Options{SlotWeights: "first", RewardMin: -1, RewardMax: 1}, "leave setting reward-min at 0"},
	} {
		if err := of(c.text, c.rows, c.Options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// An assumption that is made and does not hold is doubted, one that holds is not. Independence is doubted by what
// refutes a cascade, too; what does not hold and is not assumed is no doubt.
func TestLists_DoubtsAnAssumptionThatDoesNotHold(t *testing.T) {
	long.Test(t)
	for _, w := range lists.All() {
		for _, assume := range certify.Assumptions() {
			worst := inspect.Fine
			found := provenance.New(listLog(t, w, 6000, 3, logs.Options{Assume: assume})).Found()
			for _, check := range []string{"cascade of slots", "independence of slots"} {
				f, ok := found.Finding(check)
				if worst = max(worst, f.Severity); !ok {
					t.Errorf("%s, %s assumed: %s is not tested", w.Name, assume, check)
				}
			}
			holds := assume == "none" || w.Name == "independence" || w.Name == "cascade" && assume == "cascade"
			if (worst == inspect.Fine) != holds {
				t.Errorf("%s, %s assumed: %v", w.Name, assume, worst)
			}
			for _, f := range found.Findings {
				if f.Severity > inspect.Fine && holds { // such as slots that earn less the lower they are
					t.Errorf("%s, %s assumed, a sound log: %s: %s", w.Name, assume, f.Check, f.Measured)
				}
			}
		}
	}
}

// An assumption that flatters a policy is doubted in the statement about it, by far fewer lists than inspect needs; one
// that holds is not, and the statement says what the lists say without it.
func TestLists_DoubtWhatFlattersAPolicy(t *testing.T) {
	for _, w := range lists.All()[:2] {
		w.Uniform = true
		log := listLog(t, w, 900, 1, logs.Options{Assume: string(certify.Independence)})
		s, _ := stated(t, w, log, func(v lists.Visit, left []int, _ int) []float64 { return attracted(v.Attraction, left) })
		doubted := strings.Contains(strings.Join(s.Doubts, "\n"), "the assumption flatters the policy")
		if doubted != (w.Name == "cascade") || doubted != (s.Verdict == provenance.Doubted) ||
			!strings.Contains(s.Lists.Found, "by it these lists say that the policy earns 0.4") {
			t.Errorf("%s: %s, doubts %q, found %s", w.Name, s.Verdict, s.Doubts, s.Lists.Found)
		}
	}
}

// A sound assumption is not doubted because few lists of an argmax policy have large joint weights.
func TestLists_DoubtNoSoundAssumptionOfAnArgmaxPolicy(t *testing.T) {
	w := lists.All()[0]
	w.K = 8
	doubted := 0
	for seed := range uint64(40) {
		log := listLog(t, w, 250, seed, logs.Options{Assume: string(certify.Cascade)})
		s, _ := stated(t, w, log, func(v lists.Visit, left []int, _ int) []float64 { return largest(v.Attraction, left) })
		if strings.Contains(strings.Join(s.Doubts, "\n"), "the assumption flatters the policy") {
			doubted++
		}
		log.Close()
	}
	if doubted > 1 {
		t.Errorf("%d of 40 logs are doubted", doubted)
	}
}
