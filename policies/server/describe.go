package server

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"

	"opl/policies/features"
	"opl/policies/policyfile"
)

//go:embed openapi.json
var openapi []byte

// description is the answer of /policy: what a client may send, and what is known of the policy.
type description struct {
	Hash      string                `json:"policy_hash"`
	Actions   []string              `json:"actions"` // none where actions have features
	Floor     float64               `json:"floor"`
	Parts     []partDescription     `json:"parts"`
	Guarantee json.RawMessage       `json:"guarantee"`
	Trust     string                `json:"guarantee_is"`
	Features  []featureDescription  `json:"features"`
	Items     []featureDescription  `json:"action_features,omitempty"` // what actions are described by
	Catalogue *catalogueDescription `json:"catalogue,omitempty"`
}

type catalogueDescription struct {
	Hash    string `json:"hash"`
	Actions int    `json:"actions"`            // how many
	OfFile  string `json:"of_the_policy_file"` // hash of the file's; "": it has none
}

type partDescription struct {
	Kind   string  `json:"kind"`
	Weight float64 `json:"weight"`
}

type featureDescription struct {
	Name string  `json:"name"`
	Kind string  `json:"kind"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// unsigned says how far to trust a stored guarantee.
const unsigned = "what the policy file says; the file is not signed, so it is worth what whoever wrote it is: opl " +
	"certify computes it anew"

// Where actions have features, a policy among other actions is another policy. So the answer says which decisions the
// guarantee is about.
const (
	ofSets = "is of decisions whose contexts and offered actions come as those of the log that certified did"
	ofAll  = "is of decisions among the whole catalogue that is served, and not among sets that requests offer"
	ofFile = "is of decisions that come as those of the log that certified did: the policy file does not say whether " +
		"they were among its whole catalogue or among sets; certify it again"
	ofOther = "is of decisions among the whole catalogue %.12s, and nothing is guaranteed of what is served: serve that " +
		"catalogue, or certify on a log of decisions as they are served"
)

// covers says what decisions the guarantee of a policy file is about; "": its actions have no features, or nothing is
// guaranteed. whole reports that decisions among the whole catalogue that is served are covered, some that any are.
func covers(p *policyfile.Policy) (says string, whole, some bool) {
	f, c := p.File(), p.Catalogue()
	switch among := f.Among(); {
	case f.Certificate == nil || !p.HasItems():
		return "", true, true
	case among == policyfile.Sets && c == nil:
		return ofSets, true, true
	case among == policyfile.Sets:
		return ofSets + ", and not of decisions among the whole catalogue: let requests offer sets, or certify on a log " +
			"without them", false, true
	case among == "" && c.Hash == f.Catalogue.Hash:
		return ofFile, true, true
	case c != nil && among == c.Hash:
		return ofAll, true, true
	default:
		return fmt.Sprintf(ofOther, cmp.Or(among, f.Catalogue.Hash)), false, false
	}
}

// Uncovered says why the guarantee of a policy file is not about decisions among the whole catalogue that is served, or
// about none that are served; "": it is.
func Uncovered(p *policyfile.Policy) string {
	if says, whole, _ := covers(p); !whole {
		return "the policy file's guarantee " + says
	}
	return ""
}

// describe makes the answer of /policy. It is made once, when a policy is loaded.
func describe(p *policyfile.Policy) []byte {
	f := p.File()
	d := description{Hash: p.Hash(), Actions: f.Actions, Floor: f.Floor, Guarantee: f.Certificate, Trust: unsigned}
	if f.Certificate == nil {
		d.Guarantee, d.Trust = json.RawMessage("null"), "none is in the policy file"
	}
	var contexts, items []*features.Encoder
	for i := range f.Components {
		c := &f.Components[i]
		d.Parts = append(d.Parts, partDescription{c.Kind, c.Weight})
		if contexts = append(contexts, c.Encoder); c.Items != nil {
			items = append(items, c.Items.Encoder)
		}
	}
	d.Features, d.Items = named(contexts), named(items)
	if p.HasItems() {
		d.Actions = []string{}
		if c := p.Catalogue(); c != nil {
			d.Catalogue = &catalogueDescription{Hash: c.Hash, Actions: p.Len()}
			if f.Catalogue != nil {
				d.Catalogue.OfFile = f.Catalogue.Hash
			}
		}
	}
	switch says, _, some := covers(p); {
	case !some:
		d.Guarantee, d.Trust = json.RawMessage("null"), Uncovered(p)
	case says != "":
		d.Trust += "; it " + says
	}
	if l := f.Lists(); l.Most > 0 {
		d.Trust += fmt.Sprintf("; it is of lists of %v, and not of others", l)
	}
	b, _ := json.Marshal(d) // numbers are finite and the certificate was read from JSON
	return append(b, '\n')
}

// named describes the features of encoders. Where components share a feature, the first one's range is told.
func named(of []*features.Encoder) []featureDescription {
	all := []featureDescription{}
	seen := map[string]bool{}
	for _, e := range of {
		for j, name := range e.Names {
			if seen[name] {
				continue
			}
			seen[name] = true
			of := featureDescription{Name: name, Kind: "number"}
			if column, _, is := strings.Cut(name, "="); is && column != "" {
				of.Kind, of.High = "category", 1
			} else if s := math.Abs(e.Scale[j]); s > 0 && !math.IsInf(1/s, 0) {
				if e.Center != nil {
					of.Low = e.Center[j]
				}
				of.Low, of.High = of.Low-1/s, of.Low+1/s
			}
			all = append(all, of)
		}
	}
	return all
}

// describe answers /policy.
func (s *Server) describe(w http.ResponseWriter, _ *http.Request) {
	w.Header()["Content-Type"] = jsonType
	w.Write(s.current.Load().about)
}

// document answers /openapi.json.
func (s *Server) document(w http.ResponseWriter, _ *http.Request) {
	w.Header()["Content-Type"] = jsonType
	w.Write(openapi)
}
