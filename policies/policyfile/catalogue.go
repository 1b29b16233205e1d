package policyfile

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"opl/policies/features"
)

// Catalogue is what actions are described by, named values, column by column. Make one by
// NewCatalogue; it must not change then.
type Catalogue struct {
	Hash    string   `json:"hash"`    // of the content, see the package comment
	Columns []Column `json:"columns"` // what actions are described by; each has a value of every action
}

// Column is the values of a name, one for each action, in one of three forms.
type Column struct {
	Name    string           `json:"name"`              // a category v of a column c is "c=v"
	Float64 Numbers[float64] `json:"float64,omitempty"` // [K]
	Float32 Numbers[float32] `json:"float32,omitempty"` // [K]
	Ones    *Numbers[uint32] `json:"ones,omitempty"`    // actions whose value is 1, ascending; others have 0
}

// Numbers are in JSON base64 of their bytes, little-endian.
type Numbers[T float32 | float64 | uint32 | uint64] []T

// MarshalJSON implements json.Marshaler.
func (n Numbers[T]) MarshalJSON() ([]byte, error) {
	raw, err := binary.Append(nil, binary.LittleEndian, []T(n))
	if err != nil {
		return nil, err
	}
	return json.Marshal(base64.StdEncoding.EncodeToString(raw))
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Numbers[T]) UnmarshalJSON(b []byte) error { return n.decode(b, "a column is") }

// decode reads base64 into numbers of what errors call so.
func (n *Numbers[T]) decode(b []byte, what string) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	raw, err := base64.StdEncoding.DecodeString(s)
	size := binary.Size(T(0))
	if err != nil || len(raw)%size != 0 {
		return fmt.Errorf("%s not base64 of %d bytes each", what, size)
	}
	*n = make(Numbers[T], len(raw)/size)
	_, err = binary.Decode(raw, binary.LittleEndian, []T(*n))
	return err
}

// NewCatalogue makes a catalogue of actions from what each is described by; values may use its result
// again. Errors: values that are not finite or come twice in an action, names without a character,
// and what a policy file refuses of actions.
func NewCatalogue(actions []string, values func(action int) []features.Value) (*Catalogue, error) {
	type sparse struct {
		at          []uint32
		v           []float64
		ones, short bool // all are 1; all are numbers of 32 bits
	}
	var names []string
	columns := map[string]*sparse{}
	for a, action := range actions {
		for _, v := range values(a) {
			c := columns[v.Name]
			if c == nil {
				c = &sparse{ones: true, short: true}
				columns[v.Name], names = c, append(names, v.Name)
			}
			switch n := len(c.at); {
			case v.Number-v.Number != 0:
				return nil, fmt.Errorf("action %q: %s is %v", action, v.Name, v.Number)
			case n > 0 && c.at[n-1] == uint32(a):
				return nil, fmt.Errorf("action %q: %s comes twice", action, v.Name)
			}
			c.at, c.v = append(c.at, uint32(a)), append(c.v, v.Number)
			c.ones, c.short = c.ones && v.Number == 1, c.short && float64(float32(v.Number)) == v.Number
		}
	}
	c := &Catalogue{Columns: []Column{}}
	for _, name := range names {
		from, col := columns[name], Column{Name: name}
		switch {
		case from.ones:
			col.Ones = (*Numbers[uint32])(&from.at)
		case from.short:
			col.Float32 = make([]float32, len(actions))
			for j, a := range from.at {
				col.Float32[a] = float32(from.v[j])
			}
		default:
			col.Float64 = make([]float64, len(actions))
			for j, a := range from.at {
				col.Float64[a] = from.v[j]
			}
		}
		c.Columns = append(c.Columns, col)
	}
	c.Hash = c.digest(actions)
	return c, c.check(actions)
}

// each hands use the actions of a column whose value is not 0, ascending.
func (c *Column) each(use func(action int, v float64)) {
	switch {
	case c.Ones != nil:
		for _, a := range *c.Ones {
			use(int(a), 1)
		}
	case c.Float32 != nil:
		for a, v := range c.Float32 {
			if v != 0 {
				use(a, float64(v))
			}
		}
	default:
		for a, v := range c.Float64 {
			if v != 0 {
				use(a, v)
			}
		}
	}
}

// digest is the hash of the content: it does not depend on the order of the columns nor on their
// form.
func (c *Catalogue) digest(actions []string) string {
	sum := sha256.New()
	buf := make([]byte, 0, 1<<16)
	put := func(s string) {
		buf = append(binary.LittleEndian.AppendUint64(buf, uint64(len(s))), s...)
	}
	flush := func(least int) {
		if len(buf) > least {
			sum.Write(buf)
			buf = buf[:0]
		}
	}
	buf = binary.LittleEndian.AppendUint64(buf, uint64(len(actions)))
	for _, name := range actions {
		put(name)
		flush(1 << 15)
	}
	columns := slices.Clone(c.Columns)
	slices.SortFunc(columns, func(a, b Column) int { return strings.Compare(a.Name, b.Name) })
	for i := range columns {
		put(columns[i].Name)
		columns[i].each(func(a int, v float64) {
			buf = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(buf, uint64(a)),
				math.Float64bits(v))
			flush(1 << 15)
		})
		buf = binary.LittleEndian.AppendUint64(buf, math.MaxUint64) // the column ends
	}
	flush(0)
	return hex.EncodeToString(sum.Sum(nil))
}

// check reports what is wrong with a catalogue of these actions.
func (c *Catalogue) check(actions []string) error {
	k := len(actions)
	seen := make(map[string]bool, len(c.Columns))
	for i := range c.Columns {
		col := &c.Columns[i]
		forms := 0
		for _, is := range []bool{col.Float64 != nil, col.Float32 != nil, col.Ones != nil} {
			if is {
				forms++
			}
		}
		switch {
		case col.Name == "":
			return fmt.Errorf("the name of column %d is empty", i)
		case seen[col.Name]:
			return fmt.Errorf("two columns are named %q", col.Name)
		case forms != 1:
			return fmt.Errorf("column %q is in %d forms, want one of float64, float32 and ones", col.Name, forms)
		case col.Ones == nil && len(col.Float64)+len(col.Float32) != k:
			return fmt.Errorf("column %q has %d numbers for %d actions", col.Name, len(col.Float64)+len(col.Float32), k)
		}
		seen[col.Name] = true
		if col.Ones != nil {
			for j, a := range *col.Ones {
				if int64(a) >= int64(k) || j > 0 && a <= (*col.Ones)[j-1] {
					return fmt.Errorf("column %q: action %d, the %d-th of its ones, is not above the one before "+
						"and below %d", col.Name, a, j+1, k)
				}
			}
		}
		var wrong error
		col.each(func(a int, v float64) {
			if v-v != 0 && wrong == nil {
				wrong = fmt.Errorf("column %q of action %q is %v", col.Name, actions[a], v)
			}
		})
		if wrong != nil {
			return wrong
		}
	}
	if c.Columns == nil {
		return errors.New("no columns: want a list, which may be empty")
	}
	if want := c.digest(actions); c.Hash != want {
		return fmt.Errorf("its hash is %.64q, its content has %s", c.Hash, want)
	}
	return nil
}
