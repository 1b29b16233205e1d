package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"opl/policies/policyfile"
	"opl/policies/wholefile"
)

// wholeLines finds the place after the last line end of a file.
func wholeLines(f io.ReaderAt, size int64) (int64, error) {
	buf := make([]byte, 64<<10)
	for end := size; end > 0; {
		n := min(end, int64(len(buf)))
		if _, err := f.ReadAt(buf[:n], end-n); err != nil && err != io.EOF {
			return 0, err
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return end - n + int64(i) + 1, nil
		}
		end -= n
	}
	return 0, nil
}

// logged is a record of the log, with the fields that the server reads back.
type logged struct {
	ID           string          `json:"decision_id"`
	Context      json.RawMessage `json:"context"`
	Group        json.RawMessage `json:"group"`
	Action       string          `json:"action"`
	Propensity   float64         `json:"propensity"`
	Number       *float64        `json:"number"`
	Density      float64         `json:"density"`
	Propensities []float64       `json:"propensities"`
	Actions      json.RawMessage `json:"actions"`
	Offered      json.RawMessage `json:"offered"`
	Top          []ranked        `json:"top"`
	Unknown      int             `json:"unknown"`
	Catalogue    string          `json:"catalogue"`
	Hash         string          `json:"policy_hash"`
	shown
}

// names returns the actions of a policy whose actions have no features. For other policies it is an error.
func (d *logged) names() (names []string, err error) {
	if d.Actions == nil {
		return nil, errors.New("no actions")
	}
	return names, json.Unmarshal(d.Actions, &names)
}

// sets stands for the actions of a log whose actions have features: no two rows need offer the same.
var sets = []string{}

// among returns the actions that the log of a policy is among.
func among(p *policyfile.Policy) []string {
	if p.HasItems() {
		return sets
	}
	return p.Actions()
}

// actionsOf reads the actions of the first decision in a log's whole lines, and its kind where they have features. An
// empty log has none. It skips damaged lines, but refuses a file whose first lines hold no decision.
func actionsOf(f io.ReaderAt, whole int64) (names []string, kind string, err error) {
	other := errors.New("it does not begin with a decision of a server: is it another file? " +
		"give one that is new, or a server's log")
	if whole == 0 {
		var b [1]byte
		if n, _ := f.ReadAt(b[:], 0); n > 0 && b[0] != '{' && b[0] != 0 { // a power cut may leave zeros
			return nil, "", other
		}
		return nil, "", nil
	}
	lines := wholefile.NewLines(io.NewSectionReader(f, 0, whole))
	for read := 0; read < 4<<20; read += len(lines.Raw) {
		wrong, err := lines.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			return nil, "", err
		}
		var d logged
		if wrong != nil || json.Unmarshal(lines.Object, &d) != nil || d.ID == "" || d.Hash == "" {
			continue
		}
		if names, err := d.names(); err == nil && len(names) > 0 {
			return names, "", nil
		}
		if c, ok := d.choice(); ok {
			return sets, c.kind(), nil
		}
	}
	return nil, "", other
}
