package served

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Rewards are the rewards of decisions, by id.
type Rewards struct {
	path string
	of   map[string]reward
	left int // duplicates left out
}

type reward struct {
	value float64
	row   int
}

// ReadRewards reads a file of rewards: CSV with the columns decision_id and reward
// (others are left alone), or JSON Lines with the fields of these names and no
// others. An empty or null reward is none.
func ReadRewards(path string, d Duplicates) (*Rewards, error) {
	r := &Rewards{path: path, of: map[string]reward{}}
	var err error
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".csv":
		err = r.csv(d)
	case ".jsonl", ".ndjson":
		err = r.jsonl(d)
	default:
		return nil, fmt.Errorf("%s: %q is no kind of file for rewards: want .csv or .jsonl", path, ext)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// at puts the place of an id's reward before an error.
func (r *Rewards) at(id string, err error) error {
	return fmt.Errorf("%s: row %d: %w", r.path, r.of[id].row, err)
}

func (r *Rewards) add(row int, id string, v float64, d Duplicates) error {
	switch before, twice := r.of[id]; {
	case id == "":
		return fmt.Errorf("%s: row %d: no decision_id", r.path, row)
	case math.IsNaN(v) || math.IsInf(v, 0):
		return fmt.Errorf("%s: row %d: reward %v is not finite", r.path, row, v)
	case twice && d != First && d != Last:
		return fmt.Errorf("%s: row %d: decision_id %q has a reward in row %d already: take the first or the last of them by --duplicates", r.path, row, id, before.row)
	case twice:
		r.left++
		if d == First {
			return nil
		}
	}
	r.of[id] = reward{v, row}
	return nil
}

func (r *Rewards) csv(d Duplicates) error {
	f, err := os.Open(r.path)
	if err != nil {
		return err
	}
	defer f.Close()
	c := csv.NewReader(f)
	c.ReuseRecord = true
	head, err := c.Read()
	if err == io.EOF {
		return fmt.Errorf("%s: empty: want a header with decision_id and reward", r.path)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.path, err)
	}
	head[0] = strings.TrimPrefix(head[0], "\ufeff")
	id, value := slices.Index(head, "decision_id"), slices.Index(head, "reward")
	if id < 0 || value < 0 {
		return fmt.Errorf("%s: the header is %q: want the columns decision_id and reward", r.path, head)
	}
	if slices.Contains(head[id+1:], "decision_id") || slices.Contains(head[value+1:], "reward") {
		return fmt.Errorf("%s: the header is %q: decision_id or reward comes twice", r.path, head)
	}
	for row := 1; ; row++ {
		cells, err := c.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r.path, err)
		}
		text := strings.TrimSpace(cells[value])
		if text == "" {
			continue
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("%s: row %d: reward %q is no number", r.path, row, text)
		}
		if err := r.add(row, strings.Clone(cells[id]), v, d); err != nil {
			return err
		}
	}
}

func (r *Rewards) jsonl(d Duplicates) error {
	_, err := eachLine(r.path, true, func(n int, b []byte) error {
		var row struct {
			ID     string   `json:"decision_id"`
			Reward *float64 `json:"reward"`
		}
		if err := decode(b, &row); err != nil {
			return err
		}
		if row.Reward == nil {
			return nil
		}
		return r.add(n, row.ID, *row.Reward, d)
	})
	return err
}
