package server

import (
	_ "embed"
	"encoding/json"
	"math"
	"net/http"
	"strings"

	"opl/policies/policyfile"
)

//go:embed openapi.json
var openapi []byte

// description is what /policy says.
type description struct {
	Hash      string               `json:"policy_hash"`
	Actions   []string             `json:"actions"`
	Floor     float64              `json:"floor"`
	Parts     []partDescription    `json:"parts"`
	Guarantee json.RawMessage      `json:"guarantee"`
	Trust     string               `json:"guarantee_is"`
	Features  []featureDescription `json:"features"`
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

// unsigned is what a stored guarantee can be trusted for.
const unsigned = "what the policy file says; the file is not signed, so it is worth what whoever wrote it is: opl certify computes it anew"

// describe is the answer of /policy.
func describe(p *policyfile.Policy) []byte {
	f := p.File()
	d := description{Hash: p.Hash(), Actions: f.Actions, Floor: f.Floor, Guarantee: f.Certificate, Trust: unsigned, Features: []featureDescription{}}
	if f.Certificate == nil {
		d.Guarantee, d.Trust = json.RawMessage("null"), "none is in the policy file"
	}
	seen := map[string]bool{}
	for i := range f.Components {
		c := &f.Components[i]
		d.Parts = append(d.Parts, partDescription{c.Kind, c.Weight})
		for j, name := range c.Encoder.Names {
			if seen[name] {
				continue
			}
			seen[name] = true
			of := featureDescription{Name: name, Kind: "number"}
			if column, _, is := strings.Cut(name, "="); is && column != "" {
				of.Kind, of.High = "category", 1
			} else if s := math.Abs(c.Encoder.Scale[j]); s > 0 && !math.IsInf(1/s, 0) {
				if c.Encoder.Center != nil {
					of.Low = c.Encoder.Center[j]
				}
				of.Low, of.High = of.Low-1/s, of.Low+1/s
			}
			d.Features = append(d.Features, of)
		}
	}
	b, _ := json.Marshal(d) // numbers are finite and the certificate was read from JSON
	return append(b, '\n')
}

func (s *Server) describe(w http.ResponseWriter, _ *http.Request) {
	w.Header()["Content-Type"] = jsonType
	w.Write(s.current.Load().about)
}

func (s *Server) document(w http.ResponseWriter, _ *http.Request) {
	w.Header()["Content-Type"] = jsonType
	w.Write(openapi)
}
