package policyfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"opl/policies/features"
	"opl/policies/numeric"
	"opl/policies/wholefile"
)

// What the first fields of a policy file say. Files of versions 1 and 2 are read, too. A file is written as
// the oldest version that can hold it ([File.needs]), which older readers know.
const (
	Format  = "opl policy"
	Version = 8
)

// The kinds of policies that a component can be of.
const (
	Softmax  = "softmax"
	Gaussian = "gaussian"
	ArgMax   = "argmax"
)

// Logistic is the kind of a reward model by one logistic regression an action.
const Logistic = "logistic"

// File is the content of a policy file; the package comment says what its fields
// mean.
type File struct {
	Actions []string `json:"actions"` // names, in the order of propensities
	// what Actions are described by; nil: actions without items, or sets that are offered
	Catalogue *Catalogue `json:"catalogue,omitempty"`
	// Numbers that Actions, which are its names, stand for; nil: none
	Numbers      *numeric.Actions  `json:"numbers,omitempty"`
	Floor        float64           `json:"floor"`                   // ε: every one of K actions has ε/K at least
	RewardMin    float64           `json:"reward_min"`              // the reward that is 0 inside
	RewardMax    float64           `json:"reward_max"`              // the reward that is 1 inside
	Columns      map[string]string `json:"columns,omitempty"`       // of the log, by the names that the policy reads
	Created      Versions          `json:"created"`                 // by which opl, commit and Go
	History      History           `json:"history"`                 // which rows taught it
	Training     json.RawMessage   `json:"training,omitempty"`      // how it was learned, for people
	Certificate  json.RawMessage   `json:"certificate,omitempty"`   // what is guaranteed; nil: nothing
	Components   []Component       `json:"components"`              // of the mixture; one: a single policy
	RewardModels []RewardModel     `json:"reward_models,omitempty"` // for bounds and estimates on later logs
}

// Component is a policy of the mixture that a file holds.
type Component struct {
	Weight  float64           `json:"weight"`           // in the mixture
	Kind    string            `json:"kind"`             // gaussian, softmax, argmax or mixedlogit
	Sigma   float64           `json:"sigma"`            // of a gaussian and a mixedlogit
	Nodes   int               `json:"nodes,omitempty"`  // of a gaussian's quadrature; 0: 65
	Encoder *features.Encoder `json:"encoder"`          // context to features
	Layers  []features.Layer  `json:"layers,omitempty"` // features to features; none: linear
	// z(a) [p], what actions are; nil: action a is row a of the weights
	Items   *features.Items `json:"items,omitempty"`
	Joint   bool            `json:"joint,omitempty"` // Layers are of φ(x) and z(a) together, not of φ(x)
	Weights Matrix          `json:"weights"`         // μ [K][d]; with Items W [p][d], with Joint [1][d]
	Prior   *Prior          `json:"prior,omitempty"` // of the posterior; nil: a point policy
	Taught  Hashes          `json:"taught"`          // rows that what must be fixed was learned from
	Chosen  Hashes          `json:"chosen"`          // rows that the posterior was trained or chosen on
}

// UnmarshalJSON reads a component, strictly.
func (c *Component) UnmarshalJSON(b []byte) error {
	type plain Component
	return strict(b, []string{"weight", "kind", "sigma", "encoder", "weights", "taught", "chosen"}, (*plain)(c))
}

// Dim returns d, the number of features that the component's scores are of.
func (c *Component) Dim() int {
	if n := len(c.Layers); n > 0 {
		return c.Layers[n-1].Out()
	}
	return c.inputs()
}

// Fixed reports that the component is of a recipe, whose rows that certified it changed nothing in it: of argmax, of
// joint scores, or of softmax without a prior, which other objectives note.
func (c *Component) Fixed() bool {
	return c.Kind == ArgMax || c.Joint || c.Kind == Softmax && c.Prior == nil
}

// inputs is the number of features that layers are of.
func (c *Component) inputs() int {
	if c.Joint {
		return c.Encoder.Dim() + c.Items.Dim()
	}
	return c.Encoder.Dim()
}

// rows is how many the weights have, for K actions.
func (c *Component) rows(k int) int {
	switch {
	case c.Joint:
		return 1
	case c.Items != nil:
		return c.Items.Dim()
	}
	return k
}

// HasItems reports that actions have features: z(a), by which what is offered can differ from
// decision to decision.
func (f *File) HasItems() bool { return len(f.Components) > 0 && f.Components[0].Items != nil }

// Prior is N(Mean, Scale²·I).
type Prior struct {
	Scale float64 `json:"scale"` // standard deviation of each weight, above 0
	Mean  Matrix  `json:"mean"`  // as the weights
}

// RewardModel predicts rewards, r̂(x, a), from the features of a component.
type RewardModel struct {
	Component int `json:"component,omitempty"` // from 0; what taught that one taught it
	// softmax: r̂(x, ·) = softmax(φ(x)ᵀθ); logistic: 1/(1 + exp(−φ(x)ᵀθ_a))
	Kind    string `json:"kind"`
	Weights Matrix `json:"weights,omitempty"` // θ [K][d]; none: the prior's mean
	// Dispersion is φ of rewards whose variance is φ r̂(1 − r̂); 0: 1
	Dispersion float64 `json:"dispersion,omitempty"`
}

// History says where a policy comes from.
type History struct {
	// Known says that every row that had a part in the policy is recorded.
	Known    bool   `json:"known"`
	DataHash string `json:"data_hash"`       // of the log; empty: not known
	How      string `json:"how,omitempty"`   // what the hashes of rows are taken of
	Seed     uint64 `json:"seed,omitempty"`  // of these hashes
	From     int64  `json:"from,omitempty"`  // time of the log's earliest row, nanoseconds since 1970; 0: not known
	Until    int64  `json:"until,omitempty"` // likewise of its latest row
	// priors that the posterior's was chosen among on the rows chosen; 0: 1
	Tried int `json:"tried,omitempty"`
	// rows that had a part in it and whose content one of them had before; 0 of rows with ids
	Repeats      int            `json:"repeats,omitempty"`
	Groups       Hashes         `json:"groups,omitempty"`    // of the rows that had a part in it, by name
	Fingerprints []Fingerprints `json:"witnesses,omitempty"` // of those rows, without ids too
	Ancestors    []Ancestor     `json:"ancestors,omitempty"` // policies that logged those rows
}

// Fingerprints are some of the rows that had a part in a policy, by what they can be known
// again without an id: the context, rounded to the coarser of Digits significant digits
// and Decimals places (0: not rounded so), with the time in seconds if Time; or, with Run,
// the actions of that many rows before.
type Fingerprints struct {
	Digits   int    `json:"digits,omitempty"`   // significant digits that numbers of the context are rounded to
	Decimals int    `json:"decimals,omitempty"` // places after the point that they are rounded to
	Time     bool   `json:"time,omitempty"`     // the key includes the time in whole seconds
	Run      int    `json:"run,omitempty"`      // the key is the actions of as many rows before; 0: the context
	Keys     Hashes `json:"keys"`               // sorted: the upper 40 bits of that, 24 of the action's name
}

// Ancestor is a policy that logged rows which taught another.
type Ancestor struct {
	Policy       string         `json:"policy"`              // its hash
	Known        bool           `json:"known"`               // its file was at hand, and says which rows taught it
	DataHash     string         `json:"data_hash"`           // of the log that it was learned from
	How          string         `json:"how,omitempty"`       // what the hashes of rows are taken of
	Seed         uint64         `json:"seed,omitempty"`      // of these hashes
	Rows         Hashes         `json:"rows,omitempty"`      // that had a part in it
	Repeats      int            `json:"repeats,omitempty"`   // see History
	Fingerprints []Fingerprints `json:"witnesses,omitempty"` // see History
}

// Ancestor describes the policy to a file that is learned from its log, so that the
// rows which taught it are never taken for new ones.
func (p *Policy) Ancestor() Ancestor {
	h := p.file.History
	return Ancestor{Policy: p.hash, Known: h.Known, DataHash: h.DataHash, How: h.How, Seed: h.Seed, Rows: p.file.Rows(),
		Repeats: h.Repeats, Fingerprints: h.Fingerprints}
}

// Descend adds ancestors, but for those that are known as well already.
func (h *History) Descend(from ...Ancestor) {
	for _, a := range from {
		if !slices.ContainsFunc(h.Ancestors, func(b Ancestor) bool {
			return b.Policy == a.Policy && (b.Known || !a.Known)
		}) {
			h.Ancestors = append(h.Ancestors, a)
		}
	}
}

// Versions says what wrote a file.
type Versions struct {
	Opl    string `json:"opl"`              // version of the module, or devel
	Commit string `json:"commit,omitempty"` // revision of the source; empty: unknown
	Go     string `json:"go"`               // version of the compiler
	System string `json:"system"`           // operating system and processor, such as linux/amd64
}

// Matrix is rows of numbers, none of them null in JSON.
type Matrix [][]float64

// UnmarshalJSON implements json.Unmarshaler.
func (m *Matrix) UnmarshalJSON(b []byte) error {
	if bytes.IndexByte(b, 'n') >= 0 { // of null: no number has one
		return errors.New("null among the numbers of a matrix")
	}
	return json.Unmarshal(b, (*[][]float64)(m))
}

// Hashes are 64-bit hashes: in JSON base64 of 8 bytes each, little-endian.
type Hashes []uint64

// MarshalJSON implements json.Marshaler.
func (h Hashes) MarshalJSON() ([]byte, error) { return Numbers[uint64](h).MarshalJSON() }

// UnmarshalJSON implements json.Unmarshaler.
func (h *Hashes) UnmarshalJSON(b []byte) error {
	return (*Numbers[uint64])(h).decode(b, "hashes of rows are")
}

// header is what every version of a policy file starts with.
type header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Digest  string `json:"digest"`
}

// required are the fields that a file cannot do without.
var required = []string{"actions", "floor", "reward_min", "reward_max", "components", "history", "created"}

// zeros stand for the digest while it is taken.
var zeros = strings.Repeat("0", sha256.Size*2)

// marshal gives the bytes of the file, with the digest in it.
func (f *File) marshal() ([]byte, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	of := *f
	version, _ := f.needs()
	if f.HasItems() && of.Actions == nil {
		of.Actions = []string{}
	}
	b, err := json.Marshal(struct {
		header
		*File
	}{header{Format, version, zeros}, &of})
	if err != nil {
		return nil, err
	}
	b = append(b, '\n')
	sum := sha256.Sum256(b)
	// The header comes first: no other field can be what is replaced.
	return bytes.Replace(b, []byte(zeros), []byte(hex.EncodeToString(sum[:])), 1), nil
}

// parse reads the bytes of a file, and checks all of it.
func parse(b []byte) (f *File, digest string, err error) {
	if len(bytes.TrimSpace(b)) == 0 {
		return nil, "", errors.New("no policy file: it is empty")
	}
	var h header
	if err := json.Unmarshal(b, &h); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) && strings.HasPrefix(syntax.Error(), "unexpected end") {
			return nil, "", fmt.Errorf("the policy file is cut off: it ends within the JSON, after %d bytes", len(b))
		}
		return nil, "", fmt.Errorf("no policy file: %w", err)
	}
	switch {
	case h.Format != Format:
		return nil, "", fmt.Errorf("no policy file: its format is %q, want %q", h.Format, Format)
	case h.Version < 1 || h.Version > Version:
		return nil, "", fmt.Errorf("the policy file has version %d, and versions 1 to %d can be read: use the opl "+
			"that wrote it, or write it again", h.Version, Version)
	}
	if err := verify(b, h.Digest); err != nil {
		return nil, "", err
	}
	if h.Version == 1 {
		f, err := parseVersion1(b)
		return f, h.Digest, err
	}
	whole := struct {
		header
		*File
	}{File: &File{}}
	if err = decode(b, required, &whole); err == nil {
		err = whole.check()
	}
	if version, what := whole.needs(); err == nil && what != "" && h.Version < version {
		err = fmt.Errorf("policy file: %s, which version %d does not know", what, h.Version)
	}
	return whole.File, h.Digest, err
}

// needs returns the oldest version that can hold the file, and what of the file the versions before do not know, "" for
// nothing.
func (f *File) needs() (version int, what string) {
	switch {
	case slices.ContainsFunc(f.RewardModels, func(m RewardModel) bool { return m.Dispersion != 0 }):
		return 8, "dispersions of reward models"
	case slices.ContainsFunc(f.Components, func(c Component) bool { return c.Joint }),
		f.has(func(l *features.Layer) bool { return l.Clip != nil }):
		return 7, "scores of contexts and actions together, or a layer clip"
	case f.Numbers != nil:
		return 6, "actions that are numbers"
	case f.has((*features.Layer).IsSpecial):
		return 5, "layers of trees, pieces, products or branches"
	case f.imputes():
		return 5, "an encoder with width, impute or missing"
	case f.has(func(l *features.Layer) bool { return l.Image != nil }):
		return 4, "layers of images"
	case f.HasItems():
		return 4, "its actions have features"
	}
	return 3, ""
}

func (f *File) has(so func(l *features.Layer) bool) bool {
	return slices.ContainsFunc(f.Components, func(c Component) bool {
		return slices.ContainsFunc(c.Layers, func(l features.Layer) bool { return so(&l) })
	})
}

// imputes reports that some encoder bends or imputes values.
func (f *File) imputes() bool {
	return slices.ContainsFunc(f.Components, func(c Component) bool {
		e := c.Encoder
		return e != nil && (e.Width != nil || e.Impute || e.Missing != nil)
	})
}

// decode reads the fields of a file, strictly, into content.
func decode(b []byte, required []string, content any) error {
	if err := strict(b, append([]string{"format", "version", "digest"}, required...), content); err != nil {
		return fmt.Errorf("policy file: %w", err)
	}
	return nil
}

// strict reads an object into content: with all fields that are required, none of them
// null, and none that content does not have.
func strict(b []byte, required []string, content any) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(b, &fields); err != nil {
		return err
	}
	for _, name := range required {
		switch v, ok := fields[name]; {
		case !ok:
			return fmt.Errorf("no field %q", name)
		case string(v) == "null":
			return fmt.Errorf("%s is null", name)
		}
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	return dec.Decode(content)
}

// verify reports whether the file has changed since its digest was taken.
func verify(b []byte, digest string) error {
	if raw, err := hex.DecodeString(digest); err != nil || len(raw) != sha256.Size {
		return fmt.Errorf("policy file: the digest %q is not %d hexadecimal digits", digest, len(zeros))
	}
	at := bytes.Index(b, []byte(digest))
	if at < 0 {
		return errors.New("policy file: the digest is written with escapes")
	}
	sum := sha256.New()
	sum.Write(b[:at])
	io.WriteString(sum, zeros)
	sum.Write(b[at+len(digest):])
	if got := hex.EncodeToString(sum.Sum(nil)); got != digest {
		return fmt.Errorf("the policy file was altered after it was written: its digest is %s, it says %s", got, digest)
	}
	return nil
}

// check reports what is wrong with the content.
func (f *File) check() error {
	k := len(f.Actions)
	switch {
	case len(f.Components) == 0:
		return errors.New("policy file: no components")
	case f.HasItems() && f.Catalogue == nil && k > 0:
		return fmt.Errorf("policy file: %d actions that have features, and no catalogue of these: a policy of sets "+
			"that are offered has no actions", k)
	case !f.HasItems() && f.Catalogue != nil:
		return errors.New("policy file: a catalogue, and no component that reads what it says of actions")
	case k < 2 && (!f.HasItems() || f.Catalogue != nil):
		return fmt.Errorf("policy file: %d actions, want at least 2", k)
	case !(f.Floor >= 0 && f.Floor < 1):
		return fmt.Errorf("policy file: floor %v is outside [0, 1)", f.Floor)
	case !(f.RewardMin < f.RewardMax) || math.IsInf(f.RewardMax-f.RewardMin, 0):
		return fmt.Errorf("policy file: rewards from %v to %v are no range", f.RewardMin, f.RewardMax)
	}
	seen := make(map[string]bool, k)
	for a, name := range f.Actions {
		switch {
		case name == "":
			return fmt.Errorf("policy file: the name of action %d is empty", a)
		case seen[name]:
			return fmt.Errorf("policy file: two actions are named %q", name)
		}
		seen[name] = true
	}
	if f.Numbers != nil {
		if err := f.Numbers.Check(); err != nil {
			return fmt.Errorf("policy file: its numbers: %w", err)
		}
		if f.HasItems() || !slices.Equal(f.Numbers.Names(), f.Actions) {
			return errors.New("policy file: its actions are not those that its numbers stand for")
		}
	}
	if f.Catalogue != nil {
		if err := f.Catalogue.check(f.Actions); err != nil {
			return fmt.Errorf("policy file: the catalogue: %w", err)
		}
	}
	var total float64
	for i := range f.Components {
		c := &f.Components[i]
		if (c.Items != nil) != f.HasItems() {
			return fmt.Errorf("policy file: component %d and the first differ in whether actions have features", i)
		}
		if !(c.Weight > 0 && c.Weight <= 1) {
			return fmt.Errorf("policy file: component %d has the weight %v, want one in (0, 1]", i, c.Weight)
		}
		if err := c.check(k); err != nil {
			return err
		}
		total += c.Weight
	}
	if math.Abs(total-1) > 1e-9 {
		return fmt.Errorf("policy file: the weights of the components sum to %v, not 1", total)
	}
	for _, m := range f.RewardModels {
		if m.Kind != Softmax && m.Kind != Logistic {
			return fmt.Errorf("policy file: a reward model of kind %q, want %s or %s", m.Kind, Softmax, Logistic)
		}
		if !(m.Dispersion >= 0 && m.Dispersion <= 1) {
			return fmt.Errorf("policy file: a reward model of the dispersion %v, want one in [0, 1]", m.Dispersion)
		}
		if m.Component < 0 || m.Component >= len(f.Components) {
			return fmt.Errorf("policy file: a reward model of component %d of %d, from 0", m.Component,
				len(f.Components))
		}
		c := &f.Components[m.Component]
		if m.Weights == nil && c.Prior != nil {
			continue
		}
		if err := m.Weights.check("a reward model", c.rows(k), c.Dim()); err != nil {
			return err
		}
	}
	of := [][]Fingerprints{f.History.Fingerprints}
	for _, a := range f.History.Ancestors {
		of = append(of, a.Fingerprints)
	}
	for _, w := range slices.Concat(of...) {
		if min(w.Digits, w.Decimals, w.Run) < 0 || max(w.Digits, w.Decimals) > 17 || w.Run > 1000 {
			return fmt.Errorf("policy file: witnesses of %d digits, %d decimals and a run of %d, want at most 17, "+
				"17 and 1000", w.Digits, w.Decimals, w.Run)
		}
	}
	for _, free := range []struct {
		name string
		raw  json.RawMessage
	}{{"training", f.Training}, {"certificate", f.Certificate}} {
		if free.raw != nil && !isObject(free.raw) {
			return fmt.Errorf("policy file: %s is no JSON object", free.name)
		}
	}
	_, err := f.certificate()
	return err
}

func (c *Component) check(k int) error {
	family := c.Family()
	if family == nil {
		return fmt.Errorf("policy file: kind %q, want %s, %s or %s: the log of policies that are known by draws "+
			"alone would lack exact propensities", c.Kind, Softmax, Gaussian, ArgMax)
	}
	switch posterior := family.HasPosterior(); {
	case posterior && c.Items != nil:
		return fmt.Errorf("policy file: a %s whose actions have features: they share their weights, so their "+
			"scores are correlated, and it has no quadrature; want %s or %s", c.Kind, Softmax, ArgMax)
	case c.Sigma-c.Sigma != 0 || c.Sigma < 0:
		return fmt.Errorf("policy file: sigma is %v, want a finite number of at least 0", c.Sigma)
	case posterior && c.Sigma == 0:
		return fmt.Errorf("policy file: sigma of a %s is 0, want a positive number", c.Kind)
	case !posterior && c.Sigma != 0:
		return fmt.Errorf("policy file: sigma of a %s is %v, want 0", c.Kind, c.Sigma)
	case !posterior && c.Nodes != 0:
		return fmt.Errorf("policy file: a %s has no nodes", c.Kind)
	case c.Nodes != 0 && (c.Nodes < defaultNodes || c.Nodes > maxNodes):
		return fmt.Errorf("policy file: %d nodes, want %d to %d", c.Nodes, defaultNodes, maxNodes)
	case c.Encoder == nil:
		return errors.New("policy file: no encoder")
	case c.Joint && c.Items == nil:
		return errors.New("policy file: scores of contexts and actions together, and actions have no features")
	}
	d := c.inputs()
	for i := range c.Layers {
		if err := c.Layers[i].Check(d); err != nil {
			return fmt.Errorf("policy file: layer %d: %w", i, err)
		}
		d = c.Layers[i].Out()
	}
	k = c.rows(k)
	if err := c.Weights.check("weights", k, d); err != nil {
		return err
	}
	for _, rows := range []struct {
		did    string
		hashes Hashes
	}{{"taught the prior", c.Taught}, {"the posterior was chosen on", c.Chosen}} {
		for i, h := range rows.hashes {
			if i > 0 && h <= rows.hashes[i-1] {
				return fmt.Errorf("policy file: hash %d of the rows that %s is not above the one before", i, rows.did)
			}
		}
	}
	if c.Prior == nil {
		return nil
	}
	if s := c.Prior.Scale; !(s > 0) || s-s != 0 {
		return fmt.Errorf("policy file: the prior's scale is %v, want a positive number", s)
	}
	return c.Prior.Mean.check("the prior's mean", k, d)
}

func (m Matrix) check(name string, k, d int) error {
	if len(m) != k {
		return fmt.Errorf("policy file: %s: %d rows for %d actions, or features of actions", name, len(m), k)
	}
	for a, row := range m {
		if len(row) != d {
			return fmt.Errorf("policy file: %s: row %d has %d numbers for %d features", name, a, len(row), d)
		}
		for j, v := range row {
			if v-v != 0 {
				return fmt.Errorf("policy file: %s: row %d, number %d is %v", name, a, j, v)
			}
		}
	}
	return nil
}

// Read reads a policy file, or says why it is refused: cut off, altered, of
// another version, with numbers missing or not finite.
func Read(r io.Reader) (*Policy, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return read(b)
}

func read(b []byte) (*Policy, error) {
	f, digest, err := parse(b)
	if err != nil {
		return nil, err
	}
	return newPolicy(f, digest)
}

// maxBytes is how large a policy file may be.
const maxBytes = 4 << 30

// Load reads the policy file at a path, see [Read]. It refuses what is no regular file.
func Load(path string) (*Policy, error) {
	b, err := wholefile.Read(path, maxBytes)
	if err != nil {
		return nil, err
	}
	p, err := read(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// New returns the policy that a file with this content would hold.
func New(f *File) (*Policy, error) {
	b, err := f.marshal()
	if err != nil {
		return nil, err
	}
	return read(b)
}

// Save writes a policy file whole or not at all: to another name in the same
// folder first, which takes path's place once it is on the disk.
func Save(path string, f *File) error {
	b, err := f.marshal()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return wholefile.WriteBytes(path, b)
}

// SaveNew saves as Save does, and never replaces a file: one that is there is an fs.ErrExist, and stays.
func SaveNew(path string, f *File) error {
	b, err := f.marshal()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return wholefile.WriteNew(path, func(to *os.File) error {
		_, err := to.Write(b)
		return err
	})
}
