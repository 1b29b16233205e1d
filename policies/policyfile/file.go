package policyfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"opl/policies/features"
	"opl/policies/wholefile"
)

// What the first fields of a policy file say.
const (
	Format  = "opl policy"
	Version = 1
)

// The kinds of policies that a file can hold.
const (
	Softmax  = "softmax"
	Gaussian = "gaussian"
)

// File is the content of a policy file; the package comment says what its fields
// mean.
type File struct {
	Kind        string            `json:"kind"`
	Actions     []string          `json:"actions"`
	Sigma       float64           `json:"sigma"`
	Nodes       int               `json:"nodes,omitempty"`
	Floor       float64           `json:"floor"`
	Encoder     *features.Encoder `json:"encoder"`
	Created     Versions          `json:"created"`
	DataHash    string            `json:"data_hash"`
	Training    json.RawMessage   `json:"training,omitempty"`
	Certificate json.RawMessage   `json:"certificate,omitempty"`
	Weights     Matrix            `json:"weights"` // μ [K][d]
	Prior       *Prior            `json:"prior,omitempty"`
}

// Prior is N(Mean, Scale²·I).
type Prior struct {
	Scale  float64 `json:"scale"`
	Mean   Matrix  `json:"mean"` // [K][d]
	Taught *Taught `json:"taught,omitempty"`
}

// Taught says which rows of a log a prior was learned from.
type Taught struct {
	Count    int    `json:"count"`
	Seed     uint64 `json:"seed"`
	How      string `json:"how"`
	DataHash string `json:"data_hash"`
	Rows     Hashes `json:"rows"` // sorted, distinct
}

// Versions says what wrote a file.
type Versions struct {
	Opl    string `json:"opl"`
	Commit string `json:"commit,omitempty"`
	Go     string `json:"go"`
	System string `json:"system"`
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
func (h Hashes) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 8*len(h))
	for _, v := range h {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return json.Marshal(base64.StdEncoding.EncodeToString(b))
}

// UnmarshalJSON implements json.Unmarshaler.
func (h *Hashes) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	raw, err := base64.StdEncoding.DecodeString(s)
	if err != nil || len(raw)%8 != 0 {
		return errors.New("hashes of rows are not base64 of 8 bytes each")
	}
	*h = make(Hashes, 0, len(raw)/8)
	for ; len(raw) > 0; raw = raw[8:] {
		*h = append(*h, binary.LittleEndian.Uint64(raw))
	}
	return nil
}

// header is what every version of a policy file starts with.
type header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Digest  string `json:"digest"`
}

// required are the fields that a file cannot do without.
var required = []string{"kind", "actions", "sigma", "floor", "encoder", "weights", "data_hash", "created"}

// zeros stand for the digest while it is taken.
var zeros = strings.Repeat("0", sha256.Size*2)

// marshal gives the bytes of the file, with the digest in it.
func (f *File) marshal() ([]byte, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	b, err := json.Marshal(struct {
		header
		*File
	}{header{Format, Version, zeros}, f})
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
	case h.Version != Version:
		return nil, "", fmt.Errorf("the policy file has version %d, and only version %d can be read: use the opl that wrote it, or write it again", h.Version, Version)
	}
	if err := verify(b, h.Digest); err != nil {
		return nil, "", err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(b, &fields); err != nil {
		return nil, "", fmt.Errorf("policy file: %w", err)
	}
	for _, name := range required {
		switch v, ok := fields[name]; {
		case !ok:
			return nil, "", fmt.Errorf("policy file: no field %q", name)
		case string(v) == "null":
			return nil, "", fmt.Errorf("policy file: %s is null", name)
		}
	}
	whole := struct {
		header
		*File
	}{File: &File{}}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&whole); err != nil {
		return nil, "", fmt.Errorf("policy file: %w", err)
	}
	if err := whole.check(); err != nil {
		return nil, "", err
	}
	return whole.File, h.Digest, nil
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
	switch f.Kind {
	case Softmax, Gaussian:
	case "softmax-posterior", "mixedlogit":
		return fmt.Errorf("policy file: a %s policy is known by draws alone, and the log of what it does would lack exact propensities: learn a gaussian or a softmax one", f.Kind)
	default:
		return fmt.Errorf("policy file: kind %q, want %s or %s", f.Kind, Softmax, Gaussian)
	}
	switch {
	case k < 2:
		return fmt.Errorf("policy file: %d actions, want at least 2", k)
	case f.Sigma-f.Sigma != 0 || f.Sigma < 0:
		return fmt.Errorf("policy file: sigma is %v, want a finite number of at least 0", f.Sigma)
	case f.Kind == Gaussian && f.Sigma == 0:
		return errors.New("policy file: sigma of a gaussian is 0, want a positive number")
	case f.Kind == Softmax && f.Sigma != 0:
		return fmt.Errorf("policy file: sigma of a softmax is %v, want 0", f.Sigma)
	case f.Kind == Softmax && f.Nodes != 0:
		return errors.New("policy file: a softmax has no nodes")
	case f.Nodes != 0 && (f.Nodes < defaultNodes || f.Nodes > maxNodes):
		return fmt.Errorf("policy file: %d nodes, want %d to %d", f.Nodes, defaultNodes, maxNodes)
	case !(f.Floor >= 0 && f.Floor < 1):
		return fmt.Errorf("policy file: floor %v is outside [0, 1)", f.Floor)
	case f.Encoder == nil:
		return errors.New("policy file: no encoder")
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
	if err := f.Weights.check("weights", k, f.Encoder.Dim()); err != nil {
		return err
	}
	for _, free := range []struct {
		name string
		raw  json.RawMessage
	}{{"training", f.Training}, {"certificate", f.Certificate}} {
		if free.raw != nil && (!json.Valid(free.raw) || bytes.TrimSpace(free.raw)[0] != '{') {
			return fmt.Errorf("policy file: %s is no JSON object", free.name)
		}
	}
	if f.Prior == nil {
		return nil
	}
	if s := f.Prior.Scale; !(s > 0) || s-s != 0 {
		return fmt.Errorf("policy file: the prior's scale is %v, want a positive number", s)
	}
	if err := f.Prior.Mean.check("the prior's mean", k, f.Encoder.Dim()); err != nil {
		return err
	}
	if t := f.Prior.Taught; t != nil {
		if t.Count != len(t.Rows) {
			return fmt.Errorf("policy file: %d rows taught the prior, but the hashes are of %d", t.Count, len(t.Rows))
		}
		for i, h := range t.Rows {
			if i > 0 && h <= t.Rows[i-1] {
				return fmt.Errorf("policy file: hash %d of the rows that taught the prior is not above the one before", i)
			}
		}
	}
	return nil
}

func (m Matrix) check(name string, k, d int) error {
	if len(m) != k {
		return fmt.Errorf("policy file: %s: %d rows for %d actions", name, len(m), k)
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

// flat gives the rows one after another.
func (m Matrix) flat() []float64 { return slices.Concat(m...) }

// Read reads a policy file, or says why it is refused: cut off, altered, of
// another version, with numbers missing or not finite.
func Read(r io.Reader) (*Policy, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	f, digest, err := parse(b)
	if err != nil {
		return nil, err
	}
	return newPolicy(f, digest), nil
}

// Load reads the policy file at a path, see [Read].
func Load(path string) (*Policy, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := Read(f)
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
	return Read(bytes.NewReader(b))
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
