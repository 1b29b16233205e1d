package server

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"opl/policies/features"
	"opl/policies/policyfile"
)

// shopItems are k actions, of a price and a brand each.
func shopItems(k, from int) (names []string, of [][]features.Value) {
	for a := from; a < from+k; a++ {
		names = append(names, fmt.Sprintf("i\"%d", a))
		of = append(of, []features.Value{{Name: "price", Number: float64(a%7) / 2}, {Name: fmt.Sprint("brand=", a%3), Number: 1}})
	}
	return names, of
}

func shopCatalogue(t testing.TB, k, from int) (*policyfile.Catalogue, []string) {
	t.Helper()
	names, of := shopItems(k, from)
	c, err := policyfile.NewCatalogue(names, func(a int) []features.Value { return of[a] })
	if err != nil {
		t.Fatal(err)
	}
	return c, names
}

// shopPolicy is one of k actions; 0: without a catalogue.
func shopPolicy(t testing.TB, k int, change func(*policyfile.File)) *policyfile.Policy {
	t.Helper()
	return testPolicy(t, 0, 2, func(f *policyfile.File) {
		e, err := features.New(features.Encoder{Names: []string{"price", "brand=0", "brand=1", "brand=2"}, Scale: []float64{.5, 1, 1, 1}, Intercept: true})
		if err != nil {
			t.Fatal(err)
		}
		c := &f.Components[0]
		c.Kind, c.Sigma, c.Weights = policyfile.Softmax, 0, nil
		if c.Items, err = features.NewItems(e, []string{"i\"1"}); err != nil {
			t.Fatal(err)
		}
		for j := range c.Items.Dim() {
			row := make([]float64, c.Encoder.Dim())
			for i := range row {
				row[i] = 2 * math.Sin(float64(j*31+i*7))
			}
			c.Weights = append(c.Weights, row)
		}
		if k > 0 {
			f.Catalogue, f.Actions = shopCatalogue(t, k, 0)
		}
		if change != nil {
			change(f)
		}
	})
}

type itemAnswer struct {
	ID         string   `json:"decision_id"`
	Action     *int     `json:"action"`
	Name       string   `json:"action_name"`
	Propensity float64  `json:"propensity"`
	Top        []ranked `json:"top"`
	Unknown    int      `json:"unknown"`
	Hash       string   `json:"policy_hash"`
	Catalogue  string   `json:"catalogue"`
}

type itemLine struct {
	ID           string            `json:"decision_id"`
	Time         string            `json:"timestamp"`
	Context      map[string]any    `json:"context"`
	Actions      []json.RawMessage `json:"actions"`
	Offered      []string          `json:"offered"`
	Action       string            `json:"action"`
	Propensity   float64           `json:"propensity"`
	Propensities []float64         `json:"propensities"`
	Top          []ranked          `json:"top"`
	Unknown      int               `json:"unknown"`
	Hash         string            `json:"policy_hash"`
	Catalogue    string            `json:"catalogue"`
}

func itemLines(t testing.TB, path string) (all []itemLine) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for raw := range strings.Lines(string(b)) {
		var l itemLine
		strict(t, unsealed(t, []byte(raw)), &l)
		all = append(all, l)
	}
	return all
}

// Answers and lines are those of the Go API, to the last bit, and the log has what was offered.
func TestDecide_AnswersForItemsAsTheGoAPIDoes(t *testing.T) {
	p := shopPolicy(t, 40, nil)
	names, of := shopItems(40, 0)
	x := []features.Value{{Name: "x_0", Number: 1.5}, {Name: "city=Bern", Number: 1}}
	const context = `"context":{"x_0":1.5,"city":"Bern"}`
	var whole []features.Offer
	for _, name := range names {
		whole = append(whole, features.Offer{Action: name})
	}
	for i, c := range []struct {
		set     string
		offered []features.Offer
		text    string // of the log
		unknown int
		top     int
	}{
		{"", whole, "", 0, 0},
		{`,"top":3`, whole, "", 0, 3},
		{`,"top":100`, whole, "", 0, 40},
		{`,"offered":[ "i\"7" , "i\u00221"]`, []features.Offer{whole[7], whole[1]}, `"offered":["i\"7","i\u00221"]`, 0, 0},
		{`,"offered":["i\"3"],"top":2`, whole[3:4], `"offered":["i\"3"]`, 0, 1},
		{`,"actions":[{"price":1.0,"id":"i\"1","brand":1},{ "\u0069d":"new","brand":"2"},{"id":"i\"5","o":{"u":[1]},"price":3}],"top":2`,
			[]features.Offer{{Action: "i\"1", Features: []features.Value{{Name: "price", Number: 1}, {Name: "brand=1", Number: 1}}}, {Action: "new", Features: of[2][1:]}, {Action: "i\"5", Features: []features.Value{{Name: "price", Number: 3}}}},
			`"actions":[{"id":"i\"1","price":1.0,"brand":"1"},{"id":"new","brand":"2"},{"id":"i\"5","o.u.0":1,"price":3}]`, 1, 2},
	} {
		s, l := testServer(t, p, Config{Seed: new(uint64)})
		body := "{" + context + c.set + "}"
		if i%2 == 1 { // in another order
			body = "{" + strings.TrimPrefix(c.set+",", ",") + context + "}"
		}
		w := do(s, "POST", "/decide", body)
		if w.Code != 200 {
			t.Fatalf("%s: %d %s", body, w.Code, w.Body)
		}
		var a itemAnswer
		strict(t, w.Body.Bytes(), &a)
		pi := make([]float64, len(c.offered))
		if err := p.PropensitiesOffered(pi, x, c.offered); err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(c.offered, func(o features.Offer) bool { return o.Action == a.Name })
		if at < 0 || a.Propensity != pi[at] || (a.Action == nil) != (c.text == "") || a.Action != nil && *a.Action != at || a.Hash != p.Hash() || a.Unknown != c.unknown || len(a.Top) != c.top {
			t.Fatalf("%s: %s, propensities %v", body, w.Body, pi)
		}
		sorted := slices.Clone(pi)
		slices.Sort(sorted)
		slices.Reverse(sorted)
		for j, r := range a.Top {
			if at := slices.IndexFunc(c.offered, func(o features.Offer) bool { return o.Action == r.Action }); r.Propensity != sorted[j] || pi[at] != sorted[j] {
				t.Errorf("%s: %s, propensities %v", body, w.Body, pi)
			}
		}
		all := itemLines(t, l.path)
		got := all[0]
		b, _ := os.ReadFile(l.path)
		if got.Action != a.Name || got.Propensity != a.Propensity || got.ID != a.ID || got.Unknown != a.Unknown || got.Catalogue != a.Catalogue || !slices.Equal(got.Top, a.Top) || !strings.Contains(string(b), c.text) {
			t.Errorf("%s: line %+v of %s, want %s", body, got, w.Body, c.text)
		}
		if c.text == "" && got.Propensities != nil || c.text != "" && !slices.Equal(got.Propensities, pi) || (got.Catalogue == "") != (got.Actions != nil) || got.Catalogue != "" && got.Catalogue != p.Catalogue().Hash {
			t.Errorf("%s: line %+v, propensities %v", body, got, pi)
		}
	}
}

func TestDecide_RefusesBadItems(t *testing.T) {
	with, without := shopPolicy(t, 5, nil), shopPolicy(t, 0, nil)
	good := `{"id":"a","price":1,"brand":"0"}`
	many := `"i\"1"` + strings.Repeat(`,"x"`, maxOffered)
	for _, c := range []struct {
		p      *policyfile.Policy
		strict bool
		set    string
		want   string // empty: it is taken
	}{
		{with, false, ``, ""},
		{without, false, ``, "actions: missing, and the policy has no catalogue"},
		{with, false, `"actions":[]`, "actions: no action is offered"},
		{with, false, `"offered":[]`, "offered: no action is offered"},
		{with, false, `"offered":["i\"1","i\"1"]`, `offered[1]: action "i\"1" is offered twice`},
		{with, false, `"offered":["i\"1","i\u00221"]`, `offered[1]: action "i\"1" is offered twice`},
		{with, false, `"offered":["i\"9"]`, `offered: action "i\"9" is none of the catalogue's`},
		{without, false, `"offered":["i\"1"]`, `action "i\"1" has no features, and the policy no catalogue`},
		{with, false, `"offered":[1]`, "offered[0]: id: want a string"},
		{with, false, `"offered":[null]`, "offered[0]: id: want a string"},
		{with, false, `"offered":[["i\"1"]]`, "offered[0]: id: want a string"},
		{with, false, `"offered":[""]`, "offered[0]: id: 0 bytes, want 1 to 256"},
		{with, false, `"offered":["` + strings.Repeat("x", 257) + `"]`, "offered[0]: id: 257 bytes"},
		{with, false, `"offered":["\u0000"]`, "offered[0]: id: the character zero"},
		{with, false, `"offered":"i\"1"`, "offered: want a list"},
		{with, false, `"offered":{}`, "offered: want a list"},
		{with, false, `"offered":null`, "offered: want a list"},
		{with, false, `"offered":[` + many + `]`, "is none of the catalogue's|is offered twice|more than 4096"},
		{with, false, `"offered":["i\"1"],"offered":["i\"2"]`, "offered: comes twice"},
		{with, false, `"offered":["i\"1"],"actions":[` + good + `]`, "actions: comes twice, or both"},
		{with, false, `"actions":["i\"1"]`, "actions[0]: want an object"},
		{with, false, `"actions":[` + good + `,[]]`, "actions[1]: want an object"},
		{with, false, `"actions":[{"price":1}]`, "actions[0]: id: missing"},
		{with, false, `"actions":[{"id":7,"price":1}]`, "actions[0]: id: want a string"},
		{with, false, `"actions":[{"id":"a","id":"b","price":1}]`, "actions[0]: id: comes twice"},
		{with, false, `"actions":[` + good + `,` + good + `]`, `actions[1]: action "a" is offered twice`},
		{with, false, `"actions":[{"id":"a","price":1,"price":1}]`, "actions[0].price: comes twice"},
		{with, false, `"actions":[{"id":"a","price":"1"}]`, "actions[0].price: a string, where the policy reads a number"},
		{with, false, `"actions":[{"id":"a","price":1e999}]`, "actions[0].price: 1e999 is out of range"},
		{with, false, `"actions":[{"id":"a","price":1e300}]`, "too large for 32 bits"},
		{with, false, `"actions":[{"id":"a","prise":1}]`, "actions[0]: none of its 1 names is one of the policy's: price, brand"},
		{with, false, `"actions":[{"id":"a","price":NaN}]`, "actions.0.price: invalid character 'N'"},
		{with, false, `"actions":[{"id":"a","price":` + strings.Repeat("[", 40), "deeper than 32"},
		{with, false, `"actions":[{"id":"a","price":1}`, "invalid character '}' after array element"},
		{with, false, `"actions":[{"id":"a","price":1},]`, "invalid character"},
		{with, false, `"top":0`, "top: want a number of actions, 1 to 100"},
		{with, false, `"top":101`, "top: want"},
		{with, false, `"top":1.5`, "top: want"},
		{with, false, `"top":"3"`, "top: want"},
		{with, false, `"top":3,"top":3`, "top: want a number of actions, 1 to 100, once"},
		{with, false, `"actions":[{"id":"a","brand":"9"}]`, ""},
		{with, false, `"actions":[{"id":"a"}]`, ""},
		{with, true, `"actions":[` + good + `]`, ""},
		{with, true, `"actions":[{"id":"a","price":null,"brand":null}]`, ""},
		{with, true, `"actions":[{"id":"a","price":1,"brand=1":1}]`, ""},
		{with, true, `"actions":[{"id":"a"}]`, "actions[0].price: missing"},
		{with, true, `"actions":[` + good + `,{"id":"b","price":1}]`, "actions[1].brand: missing"},
		{with, true, `"actions":[{"id":"b","brand":"1"}]`, "actions[0].price: missing"},
		{with, true, `"actions":[{"id":"a","price":1,"brand":"9"}]`, `actions[0].brand: the policy does not know the category "9"`},
		{with, true, `"actions":[{"id":"a","price":1,"brand":"1","colour":2}]`, "actions[0].colour: the policy does not know the name"},
		{testPolicy(t, 3, 2, nil), false, `"actions":[` + good + `]`, "actions: the policy's actions have no features"},
		{testPolicy(t, 3, 2, nil), false, `"top":1`, "top: the policy's actions have no features"},
	} {
		s, l := testServer(t, c.p, Config{Strict: c.strict})
		body := strings.TrimSuffix(`{"context":{"x_0":1,"x_1":0,"city":null},`+c.set, ",") + "}"
		w := do(s, "POST", "/decide", body)
		if c.want == "" {
			if w.Code != 200 {
				t.Errorf("%s: %d %s", body, w.Code, w.Body)
			}
			continue
		}
		var e struct{ Error string }
		strict(t, w.Body.Bytes(), &e)
		if w.Code != 400 || !slices.ContainsFunc(strings.Split(c.want, "|"), func(want string) bool { return strings.Contains(e.Error, want) }) {
			t.Errorf("%.200s: %d %q, want %q", body, w.Code, e.Error, c.want)
		}
		if b, err := os.ReadFile(l.path); err != nil || len(b) > 0 {
			t.Errorf("%s: a bad request is in the log: %s", body, b)
		}
	}
	// A request leaves nothing to the next.
	s, l := testServer(t, with, Config{})
	do(s, "POST", "/decide", ask)
	for range 3 {
		for _, kind := range []string{`"actions":[` + good + `]`, `"offered":["i\"1"]`} {
			if w := do(s, "POST", "/decide", `{"context":{"x_0":1},`+kind+`}`); w.Code != 400 || !strings.Contains(w.Body.String(), "those in the log are among all actions of the catalogue") {
				t.Errorf("another kind of decision: %d %s", w.Code, w.Body)
			}
		}
		do(s, "POST", "/decide", `{"context":{"x_0":1},"actions":[{"id":"a","price":1},{"id":"a","price":1}],"top":5}`)
		do(s, "POST", "/decide", `{"context":{"x_0":1},"offered":["i\"1","nothing"]}`)
		do(s, "POST", "/decide", ask)
	}
	for _, got := range itemLines(t, l.path) {
		if got.Actions != nil || got.Offered != nil || got.Top != nil || got.Catalogue == "" {
			t.Errorf("%+v", got)
		}
	}
}

// Who asks again gets the same answer, also of a server that was started since and of another catalogue.
func TestItems_AreAnsweredAgainAfterARestart(t *testing.T) {
	const one, two = `,"offered":["i\"7","i\"1","i\"3"]`, `,"actions":[{"price":1,"id":"i\"1","brand":1,"x":2},{"id":"new","brand":"2"}]`
	testItemsAgain(t, "", `,"top":2`, `,"offered":["i\"7"]`)
	testItemsAgain(t, one, one+`,"top":2`, ``)
	testItemsAgain(t, one, one+`,"top":2`, `,"offered":["i\"1","i\"7","i\"3"]`)
	testItemsAgain(t, two, two+`,"top":2`, strings.Replace(two, "1", "1.0", 1))
}

func testItemsAgain(t *testing.T, plain, top, other string) {
	t.Helper()
	p := shopPolicy(t, 40, nil)
	s, l := testServer(t, p, Config{})
	bodies := map[string]string{}
	for i := range 8 {
		for j, set := range []string{plain, top} {
			body := fmt.Sprintf(`{"context":{"x_0":%d,"y":1},"decision_id":"%d %d"%s}`, i, i, j, set)
			w := do(s, "POST", "/decide", body)
			if w.Code != 200 {
				t.Fatal(w.Body)
			}
			bodies[body] = w.Body.String()
		}
	}
	check := func(s *Server) {
		t.Helper()
		for body, answer := range bodies {
			if w := do(s, "POST", "/decide", body); w.Code != 200 || w.Body.String() != answer {
				t.Errorf("%s: %d %s, want %s", body, w.Code, w.Body, answer)
			}
		}
		if w := do(s, "POST", "/decide", `{"context":{"x_0":1,"y":1},"decision_id":"1 0"`+other+"}"); w.Code != 409 {
			t.Errorf("%s: %d %s", other, w.Code, w.Body)
		}
	}
	check(s)
	c, names := shopCatalogue(t, 20, 5)
	q, err := p.WithCatalogue(c, names)
	if err == nil {
		err = s.Reload(q)
	}
	if err != nil {
		t.Fatal(err)
	}
	check(s)
	next, err := New(q, l, Config{})
	if err != nil {
		t.Fatal(err)
	}
	check(next)
	if n := len(itemLines(t, l.path)); n != len(bodies) {
		t.Errorf("%d lines of %d decisions", n, len(bodies))
	}
	if !strings.HasPrefix(plain, `,"offered`) {
		return
	}
	// An id whose action was refused is free.
	gone := `{"context":{"x_0":1},"decision_id":"free","offered":["i\"1"]}`
	if w := do(s, "POST", "/decide", gone); w.Code != 400 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := do(s, "POST", "/decide", strings.Replace(gone, `\"1`, `\"6`, 1)); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// Another catalogue is served under load: new actions are played, those that are gone no longer, and each line
// has the hash of the one that it is of.
func TestReload_SwitchesCataloguesUnderLoad(t *testing.T) {
	p := shopPolicy(t, 40, nil)
	s, l := testServer(t, p, Config{})
	byHash := map[string]map[string]bool{}
	var versions []*policyfile.Policy
	for i := range 4 {
		c, names := shopCatalogue(t, 30, 10*i)
		q, err := p.WithCatalogue(c, names)
		if err != nil {
			t.Fatal(err)
		}
		versions, byHash[c.Hash] = append(versions, q), map[string]bool{}
		for _, name := range names {
			byHash[c.Hash][name] = true
		}
	}
	if err := s.Reload(versions[0]); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				if w := do(s, "POST", "/decide", ask); w.Code != 200 {
					t.Error(w.Body)
				}
			}
		})
	}
	for i := range 40 {
		if err := s.Reload(versions[i%4]); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	if err := s.Reload(versions[3]); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		do(s, "POST", "/decide", ask)
	}
	played := map[string]bool{}
	all := itemLines(t, l.path)
	for i, got := range all {
		if !byHash[got.Catalogue][got.Action] || got.Hash != p.Hash() {
			t.Fatalf("%+v", got)
		}
		if played[got.Action] = true; i >= len(all)-200 && got.Catalogue != versions[3].Catalogue().Hash {
			t.Errorf("%+v", got)
		}
	}
	if !played["i\"59"] && !played["i\"58"] && !played["i\"57"] {
		t.Error("no new action is played")
	}
	if b := do(s, "GET", "/metrics", "").Body.String(); !strings.Contains(b, fmt.Sprintf("opl_catalogue_actions{hash=%q} 30\n", versions[3].Catalogue().Hash)) {
		t.Error(b)
	}
	if err := s.Reload(testPolicy(t, 3, 2, nil)); err == nil || !strings.Contains(err.Error(), "have features in one") {
		t.Error(err)
	}
	if _, err := New(testPolicy(t, 3, 2, nil), l, Config{}); err == nil || !strings.Contains(err.Error(), "give a log of its own") {
		t.Error(err)
	}
	// A copy of the log says of itself what it is.
	b, err := os.ReadFile(l.path)
	if err == nil {
		err = os.WriteFile(l.path+"-copy", b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	again, err := OpenLog(l.path+"-copy", LogOptions{Fsync: FsyncNever})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if _, err := New(testPolicy(t, 3, 2, nil), again, Config{}); err == nil || !strings.Contains(err.Error(), "give a log of its own") {
		t.Error(err)
	}
	if _, err := New(versions[1], again, Config{}); err != nil {
		t.Error(err)
	}
}

// A policy with more components and other features of actions takes over.
func TestReload_TakesAPolicyOfOtherFeatures(t *testing.T) {
	s, _ := testServer(t, shopPolicy(t, 40, nil), Config{})
	more := shopPolicy(t, 40, func(f *policyfile.File) {
		c := f.Components[0]
		e, err := features.New(features.Encoder{Names: []string{"size", "price"}, Scale: []float64{1, 1}})
		if err == nil {
			c.Items, err = features.NewItems(e, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Actions, f.Catalogue, c.Weights, f.Components[0].Weight, c.Weight = nil, nil, c.Weights[:2], .5, .5
		f.Components = append(f.Components, c, c)
		f.Components[2].Weight = .25
		f.Components[1].Weight = .25
	})
	x := []features.Value{{Name: "x_0", Number: 1}}
	for i := range 6 {
		if i == 3 {
			if err := s.Reload(more); err != nil {
				t.Fatal(err)
			}
		}
		w := do(s, "POST", "/decide", `{"context":{"x_0":1},"actions":[{"id":"a","price":1},{"id":"b","price":2,"size":3}],"top":2}`)
		var a itemAnswer
		strict(t, w.Body.Bytes(), &a)
		pi := make([]float64, 2)
		if err := s.Policy().PropensitiesOffered(pi, x, []features.Offer{{Action: "a", Features: []features.Value{{Name: "price", Number: 1}}}, {Action: "b", Features: []features.Value{{Name: "price", Number: 2}, {Name: "size", Number: 3}}}}); err != nil || a.Action == nil || a.Propensity != pi[*a.Action] {
			t.Errorf("%d: %s, want %v, %v", i, w.Body, pi, err)
		}
	}
}

// What is guaranteed is of the decisions that certified: among all of a catalogue, or among sets.
func TestPolicy_StatesWhichCatalogueIsCertified(t *testing.T) {
	certified := func(f *policyfile.File) { f.Certificate = json.RawMessage(promise) }
	p := shopPolicy(t, 40, certified)
	c, names := shopCatalogue(t, 30, 20)
	other, err := p.WithCatalogue(c, names)
	if err != nil {
		t.Fatal(err)
	}
	among := func(k int, what string) (*policyfile.Policy, string) {
		text := strings.Replace(promise, "{", fmt.Sprintf(`{"among":%q,`, what), 1)
		return shopPolicy(t, k, func(f *policyfile.File) { f.Certificate = json.RawMessage(text) }), text
	}
	whole, ofWhole := among(40, p.Catalogue().Hash)
	elsewhere, ofOther := among(40, c.Hash) // as certify --write by another catalogue says
	there, err := elsewhere.WithCatalogue(c, names)
	if err != nil {
		t.Fatal(err)
	}
	sets, ofSets := among(40, policyfile.Sets)
	bare, ofBare := among(0, policyfile.Sets)
	for _, of := range []struct {
		p               *policyfile.Policy
		guarantee, says string
		k               int
		uncovered       bool
	}{
		{p, promise, "does not say whether they were among its whole catalogue or among sets", 40, false},
		{other, `null`, "nothing is guaranteed of what is served", 30, true},
		{shopPolicy(t, 0, certified), promise, "whose contexts and offered actions come as", 0, false},
		{shopPolicy(t, 40, nil), `null`, "none is in the policy file", 40, false},
		{whole, ofWhole, "among the whole catalogue that is served, and not among sets", 40, false},
		{elsewhere, `null`, fmt.Sprintf("among the whole catalogue %.12s, and nothing is guaranteed", c.Hash), 40, true},
		{there, ofOther, "among the whole catalogue that is served, and not among sets", 30, false},
		{sets, ofSets, "log that certified did, and not of decisions among the whole catalogue", 40, true},
		{bare, ofBare, "whose contexts and offered actions come as", 0, false},
	} {
		if not := Uncovered(of.p); (not != "") != of.uncovered || not != "" && !strings.Contains(not, of.says) {
			t.Errorf("uncovered: %q, want %v, %q", not, of.uncovered, of.says)
		}
		s, _ := testServer(t, of.p, Config{})
		var got description
		strict(t, do(s, http.MethodGet, "/policy", "").Body.Bytes(), &got)
		if string(got.Guarantee) != of.guarantee || !strings.Contains(got.Trust, of.says) || len(got.Actions) > 0 || len(got.Items) != 4 || got.Items[0] != (featureDescription{"price", "number", -2, 2}) || (got.Catalogue != nil) != (of.k > 0) {
			t.Errorf("%+v", got)
		}
		if got.Catalogue != nil && (got.Catalogue.Actions != of.k || got.Catalogue.Hash != of.p.Catalogue().Hash || got.Catalogue.OfFile != p.Catalogue().Hash) {
			t.Errorf("%+v", got.Catalogue)
		}
	}
}

// A canary among the same catalogue, or one that both are given.
func TestMix_OfItemsNeedsOneCatalogue(t *testing.T) {
	a := shopPolicy(t, 40, func(f *policyfile.File) { f.Floor = .1 })
	more := func(f *policyfile.File) { f.Components[0].Kind = policyfile.ArgMax }
	c, names := shopCatalogue(t, 30, 20)
	given := func(p *policyfile.Policy) *policyfile.Policy {
		w, err := p.WithCatalogue(c, names)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	x := []features.Value{{Name: "x_0", Number: 1}}
	for _, of := range []struct {
		a, b *policyfile.Policy
		k    int // of the file
	}{{a, shopPolicy(t, 40, more), 40}, {given(a), given(shopPolicy(t, 40, more)), 40}, {given(a), given(shopPolicy(t, 20, more)), 30}, {given(a), given(shopPolicy(t, 0, more)), 30}} {
		f, err := Mix(of.a, of.b, .3)
		if err != nil {
			t.Fatal(err)
		}
		m, err := policyfile.New(f)
		if err != nil {
			t.Fatal(err)
		}
		if m.Len() != of.k {
			t.Errorf("%d actions, want %d", m.Len(), of.k)
		}
		if of.a != a {
			m = given(m)
		}
		pi, one, two := make([]float64, m.Len()), make([]float64, m.Len()), make([]float64, m.Len())
		for _, get := range []struct {
			p  *policyfile.Policy
			pi []float64
		}{{m, pi}, {of.a, one}, {of.b, two}} {
			if err := get.p.Propensities(get.pi, x); err != nil {
				t.Fatal(err)
			}
		}
		for i := range pi {
			if want := .7*one[i] + .3*two[i]; math.Abs(pi[i]-want) > 1e-14 {
				t.Errorf("action %d: %v, want %v", i, pi[i], want)
			}
		}
	}
	for _, of := range []struct {
		b    *policyfile.Policy
		want string
	}{{shopPolicy(t, 20, more), "other catalogues"}, {shopPolicy(t, 0, more), "other catalogues"}, {testPolicy(t, 3, 2, nil), "and not in the other"}} {
		if _, err := Mix(a, of.b, .3); err == nil || !strings.Contains(err.Error(), of.want) {
			t.Errorf("%v, want %s", err, of.want)
		}
	}
}

// A decision among a large catalogue is answered in less than 1 kB.
func TestCatalogue_ThatIsLargeHasShortAnswers(t *testing.T) {
	p := shopPolicy(t, 100_000, nil)
	s, l := testServer(t, p, Config{})
	for _, body := range []string{ask, `{"context":{"x_0":1},"top":5,"decision_id":"a decision"}`} {
		if w := do(s, "POST", "/decide", body); w.Code != 200 || w.Body.Len() > 1000 {
			t.Errorf("%d, %d bytes: %.300s", w.Code, w.Body.Len(), w.Body)
		}
	}
	if info, err := os.Stat(l.path); err != nil || info.Size() > 2000 {
		t.Errorf("the log has %d bytes, %v", info.Size(), err)
	}
	if w := do(s, "GET", "/policy", ""); w.Body.Len() > 5000 {
		t.Errorf("/policy has %d bytes", w.Body.Len())
	}
}
