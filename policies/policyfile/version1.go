package policyfile

import (
	"encoding/json"
	"fmt"

	"opl/policies/features"
)

// version1 is the content of a file of version 1: one component, whose history is partly in
// the object training.
type version1 struct {
	header
	Kind        string            `json:"kind"`
	Actions     []string          `json:"actions"`
	Sigma       float64           `json:"sigma"`
	Nodes       int               `json:"nodes"`
	Floor       float64           `json:"floor"`
	Encoder     *features.Encoder `json:"encoder"`
	Created     Versions          `json:"created"`
	DataHash    string            `json:"data_hash"`
	Training    json.RawMessage   `json:"training"`
	Certificate json.RawMessage   `json:"certificate"`
	Weights     Matrix            `json:"weights"`
	Prior       *struct {
		Scale  float64 `json:"scale"`
		Mean   Matrix  `json:"mean"`
		Taught *struct {
			Count    int    `json:"count"`
			Seed     uint64 `json:"seed"`
			How      string `json:"how"`
			DataHash string `json:"data_hash"`
			Rows     Hashes `json:"rows"`
		} `json:"taught"`
	} `json:"prior"`
}

// parseVersion1 reads a file of version 1 as one of today.
func parseVersion1(b []byte) (*File, error) {
	c := &version1{}
	err := decode(b, []string{"kind", "actions", "sigma", "floor", "encoder", "weights", "data_hash", "created"}, c)
	f := c.file()
	if err == nil {
		err = f.check()
	}
	if err == nil && c.Prior != nil && c.Prior.Taught != nil && c.Prior.Taught.Count != len(c.Prior.Taught.Rows) {
		err = fmt.Errorf("policy file: %d rows taught the prior, but the hashes are of %d", c.Prior.Taught.Count,
			len(c.Prior.Taught.Rows))
	}
	return &f, err
}

// file is the content as a file of today has it.
func (c *version1) file() File {
	f := File{Actions: c.Actions, Floor: c.Floor, RewardMax: 1, Created: c.Created, Training: c.Training,
		Certificate: c.Certificate, History: History{DataHash: c.DataHash}}
	one := Component{Weight: 1, Kind: c.Kind, Sigma: c.Sigma, Nodes: c.Nodes, Encoder: c.Encoder, Weights: c.Weights}
	var t struct {
		RewardMin float64 `json:"reward_min"`
		RewardMax float64 `json:"reward_max"`
		Tried     int     `json:"tried"`
		HasModel  bool    `json:"has_reward_model"`
		Model     Matrix  `json:"reward_model"`
		Chosen    *Hashes `json:"chosen"`
	}
	if c.Training != nil && json.Unmarshal(c.Training, &t) != nil {
		t.Chosen = nil // made elsewhere: nothing is known of its rows
	}
	if t.RewardMin < t.RewardMax {
		f.RewardMin, f.RewardMax = t.RewardMin, t.RewardMax
	}
	if p := c.Prior; p != nil {
		one.Prior = &Prior{Scale: p.Scale, Mean: p.Mean}
		if t.HasModel {
			f.RewardModels = []RewardModel{{Kind: Softmax, Weights: t.Model}}
		}
		if p.Taught != nil && t.Chosen != nil {
			one.Taught, one.Chosen = p.Taught.Rows, *t.Chosen
			f.History.Known, f.History.How, f.History.Seed, f.History.Tried = true, p.Taught.How, p.Taught.Seed, t.Tried
		}
	}
	f.Components = []Component{one}
	return f
}
