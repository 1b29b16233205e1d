package logs

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/cespare/xxhash/v2"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/zstd"
)

// A part is the rows of one file of several as its reader gave them, before anything is asked of them beside
// others: what a builder makes of the parts of a log is what it makes of the files, and of one file with all their rows.
// It is the magic number, the rows, compressed by Zstandard, the header in JSON, its length, and the xxHash64 of all before.
const partMagic = uint64(0x4f504c5041525401) // the last byte is the version

// partHeader says what a part is of, and what the reader found out.
type partHeader struct {
	Key    string `json:"key"`
	Log    string `json:"log"`
	Source source `json:"source"`
	Tag    string `json:"tag,omitempty"` // of an object

	Rows       int          `json:"rows"` // bad ones are among them
	Columns    []partColumn `json:"columns"`
	Names      []string     `json:"names"` // of values of contexts
	Category   []byte       `json:"category"`
	ItemNames  []string     `json:"item_names"`
	ItemCat    []byte       `json:"item_category"`
	Slots      []string     `json:"slots"`
	Listed     bool         `json:"listed"`
	CostColumn string       `json:"cost_column"`
	Base       int          `json:"base"`
	ActionsMin int          `json:"actions_min"`
	Sums       bool         `json:"sums"`
	MayLack    bool         `json:"may_lack"`
	Lightly    bool         `json:"lightly"`
	Varied     bool         `json:"varied"`
	Untagged   bool         `json:"untagged"`
	Multi      []uint64     `json:"multi,omitempty"` // see memory
	Among      string       `json:"among,omitempty"` // see Log.Among
}

// partColumn is a column of a file, and what a pass counted of it that did not know its kind.
type partColumn struct {
	Name    string `json:"name"`
	As      string `json:"as"`
	Role    role   `json:"role"`
	Kind    kind   `json:"kind"` // that it was read as
	Numbers int    `json:"numbers"`
	Texts   int    `json:"texts"`
	Missing int    `json:"missing"`
	Told    bool   `json:"told"` // the format says its kind
}

// part is a part in a file, at a place.
type part struct {
	partHeader
	path string
	at   int64
	size int64 // of the rows
}

// what a row has, as bits
const (
	partID = 1 << iota
	partGroup
	partAction
	partPolicy
	partTime
	partCost
	partP
	partProps
	partWeight
	partListed
	partNames // other ones than the row before
	partSet
	partBad
	partNone // a line that is no decision
)

// scan reads a file into rows of a part, in passes until kinds of columns are known, given those in m. was is the
// header of an earlier part of the same file, whose counts stay; nil: there is none.
func (p *plan) scan(ctx context.Context, f *file, local string, m *memory, was *partHeader, to *os.File) (h partHeader, err error) {
	for {
		if _, err := to.Seek(0, io.SeekStart); err != nil {
			return h, err
		}
		if err := to.Truncate(0); err != nil {
			return h, err
		}
		again := false
		if h, again, err = p.scanOnce(ctx, f, local, m, to); err != nil || !again {
			break
		}
		if was == nil && h.Columns != nil {
			was = &partHeader{Columns: h.Columns}
		}
		for _, c := range h.Columns {
			if c.Role == roleContext && !c.Told && m.kinds[c.Name] == undecided {
				m.kinds[c.Name] = c.want()
			}
		}
	}
	for i := range h.Columns { // counts are those of the pass that took kinds as they came
		if was == nil {
			break
		}
		for _, c := range was.Columns {
			if h.Columns[i].Name == c.Name {
				h.Columns[i].Numbers, h.Columns[i].Texts = c.Numbers, c.Texts
			}
		}
	}
	return h, err
}

// want is the kind that the values of a column have together.
func (c *partColumn) want() kind {
	switch {
	case c.Numbers+c.Texts == 0:
		return undecided
	case c.Texts > 0 && c.Numbers < 9*c.Texts:
		return category
	}
	return number
}

// scanOnce is a pass. again: there must be another, with kinds as the header counts them, or with what m has learned.
func (p *plan) scanOnce(ctx context.Context, f *file, local string, m *memory, to io.Writer) (h partHeader, again bool, err error) {
	o := *p.o
	o.Columns = maps.Clone(o.Columns)
	for _, fixed := range f.fixed { // they need not be in the file
		maps.DeleteFunc(o.Columns, func(_, column string) bool { return column == fixed[0] })
	}
	b, err := newBuilder(f.name, "", &o, m)
	if err != nil {
		return h, false, err
	}
	b.renamed, b.taken, b.catalogue, b.local, b.ends = p.renamed, p.taken, p.catalogue, local, true
	rd, err := f.format.reader(f.name, f.packed, b)
	if err != nil {
		return h, false, err
	}
	defer func() { err = errors.Join(err, rd.close()) }()
	if _, err := to.Write(binary.LittleEndian.AppendUint64(nil, partMagic)); err != nil {
		return h, false, err
	}
	z, err := compressor()
	if err != nil {
		return h, false, err
	}
	defer encoders.Put(z)
	z.Reset(to)
	w := partWriter{to: bufio.NewWriterSize(z, 1<<16)}
	for b.at = 1; ; b.at++ {
		if b.at%1024 == 0 && ctx.Err() != nil {
			return h, false, ctx.Err()
		}
		b.begin()
		err := rd.next(b)
		if err == io.EOF {
			break
		}
		var wrong *rowError
		switch {
		case err == errNoDecision:
			w.none()
			continue
		case err == errAgain:
			return h, true, nil
		case err != nil && !errors.As(err, &wrong):
			return h, false, err
		case b.typesOnly:
			continue
		case err == nil:
			err = b.whole()
		}
		if err != nil {
			if !errors.As(err, &wrong) {
				return h, false, err
			}
			w.bad(&b.row, wrong, rd.raw())
			continue
		}
		w.row(b)
		if b.n++; b.row.listed && b.offers.column == "" && len(b.slots) == 0 {
			b.list()
		}
		if b.row.hasProps && b.props.size == 0 {
			put(&b.props, 0.) // slots are those of this row
		}
	}
	h = partHeader{Rows: b.at - 1, Names: b.contexts.names, ItemNames: b.items.names, Slots: b.slots, Listed: b.listed, CostColumn: b.costColumn,
		Base: b.base, ActionsMin: b.actionsMin, Sums: b.sums, MayLack: b.mayLack, Lightly: b.lightly, Varied: m.varied, Untagged: m.untagged, Among: b.among}
	h.Category, h.ItemCat = b.contexts.category.buf, b.items.category.buf
	if d, ok := rd.(*dsjson); ok && d.known {
		h.Multi = d.multi
	}
	if b.table != nil {
		for _, c := range b.table.columns {
			h.Columns = append(h.Columns, partColumn{Name: c.name, As: c.as, Role: c.role, Kind: c.kind, Numbers: c.numbers, Texts: c.texts, Missing: c.missing,
				Told: c.told && m.kinds[c.name] != c.kind})
		}
	}
	if err := errors.Join(w.to.Flush(), z.Close()); err != nil {
		return h, false, err
	}
	return h, b.typesOnly, nil
}

// encoders are those that compress parts.
var encoders sync.Pool

func compressor() (*zstd.Encoder, error) {
	if z, ok := encoders.Get().(*zstd.Encoder); ok {
		return z, nil
	}
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<19))
}

// partWriter writes rows.
type partWriter struct {
	to  *bufio.Writer
	buf []byte
	ids []uint32 // of the row before
}

// end writes what is in buf, with its length.
func (w *partWriter) end() {
	var size [binary.MaxVarintLen64]byte
	w.to.Write(size[:binary.PutUvarint(size[:], uint64(len(w.buf)))]) // an error stays until Flush
	w.to.Write(w.buf)
}

func (w *partWriter) none() {
	w.buf = append(w.buf[:0], binary.AppendUvarint(nil, partNone)...)
	w.end()
}

func (w *partWriter) bad(r *row, e *rowError, raw []byte) {
	w.buf = binary.AppendUvarint(w.buf[:0], partBad)
	w.number(uint64(r.unrewarded))
	for _, s := range []string{e.column, e.text} {
		w.text([]byte(s))
	}
	w.text(raw)
	w.end()
}

func (w *partWriter) number(v uint64) { w.buf = binary.AppendUvarint(w.buf, v) }

func (w *partWriter) text(s []byte) { w.number(uint64(len(s))); w.buf = append(w.buf, s...) }

func (w *partWriter) values(v ...float64) {
	for _, x := range v {
		w.buf = binary.LittleEndian.AppendUint64(w.buf, math.Float64bits(x))
	}
}

func (w *partWriter) names(ids []uint32) {
	w.number(uint64(len(ids)))
	for _, id := range ids {
		w.number(uint64(id))
	}
}

func (w *partWriter) row(b *builder) {
	r, g := &b.row, &b.contexts
	has := uint64(0)
	for i, yes := range []bool{r.hasID, r.hasGroup, r.hasAction, len(r.policy) > 0, r.hasTime, r.hasCost, r.hasP, r.hasProps, r.hasWeight, r.listed,
		!slices.Equal(g.ids, w.ids), b.offers.column != ""} {
		if yes {
			has |= 1 << i
		}
	}
	w.buf = binary.AppendUvarint(w.buf[:0], has)
	w.number(uint64(r.unrewarded))
	w.number(uint64(r.list))
	w.buf = append(w.buf, byte(r.form), byte(r.ids))
	if r.hasID {
		w.text(r.id)
	}
	if r.hasGroup {
		w.text(r.group)
	}
	if r.hasAction {
		w.text(r.action)
	}
	if len(r.policy) > 0 {
		w.text(r.policy)
	}
	if r.hasTime {
		w.buf = binary.AppendVarint(w.buf, r.time)
	}
	w.values(r.cost, r.p, r.weight)
	if r.hasProps {
		w.number(uint64(len(r.props)))
		w.values(r.props...)
	}
	if has&partNames != 0 {
		w.names(g.ids)
		w.ids = append(w.ids[:0], g.ids...)
	}
	w.values(g.vals...)
	if has&partSet != 0 {
		o, t := &b.offers, &b.items
		w.text([]byte(o.column))
		w.number(uint64(len(o.ends)))
		w.number(uint64(o.named))
		for j := range o.ends {
			end := len(t.ids)
			if j+1 < len(o.starts) {
				end = o.starts[j+1]
			}
			if o.named > 0 {
				w.text(o.id(j))
			}
			w.names(t.ids[o.starts[j]:end])
			w.values(t.vals[o.starts[j]:end]...)
		}
	}
	w.end()
}

// end writes the header after the rows.
func (h *partHeader) end(f *os.File) error {
	header, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if _, err := f.Write(binary.LittleEndian.AppendUint64(header, uint64(len(header)))); err != nil {
		return err
	}
	sum, _, err := sumOf(f)
	if err == nil {
		_, err = f.Write(binary.LittleEndian.AppendUint64(nil, sum))
	}
	return err
}

// sumOf is the xxHash64 of what is in a file, and its length.
func sumOf(f *os.File) (uint64, int64, error) {
	sum := xxhash.New()
	n, err := io.CopyBuffer(sum, io.NewSectionReader(f, 0, math.MaxInt64), make([]byte, 1<<18))
	return sum.Sum64(), n, err
}

// loadPart opens a part that is found sound, and of the key; nil log: whoever wrote it.
func loadPart(path, key string, log os.FileInfo) (*part, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || log != nil && !trusted(info, log) || info.Size() < 24 {
		return nil, errors.Join(errDamaged, err)
	}
	size := info.Size()
	var first [8]byte
	var end [16]byte
	if _, err := f.ReadAt(first[:], 0); err != nil {
		return nil, err
	}
	if _, err := f.ReadAt(end[:], size-16); err != nil {
		return nil, err
	}
	length := int64(binary.LittleEndian.Uint64(end[:]))
	if binary.LittleEndian.Uint64(first[:]) != partMagic || length < 0 || length > size-24 {
		return nil, errDamaged
	}
	header := make([]byte, length)
	if _, err := f.ReadAt(header, size-16-length); err != nil {
		return nil, err
	}
	p := &part{path: path, at: 8, size: size - 24 - length}
	if json.Unmarshal(header, &p.partHeader) != nil || p.Key != key || len(p.Category) != len(p.Names) || len(p.ItemCat) != len(p.ItemNames) {
		return nil, errDamaged
	}
	sum := xxhash.New()
	if _, err := io.CopyBuffer(sum, io.NewSectionReader(f, 0, size-8), make([]byte, 1<<18)); err != nil {
		return nil, err
	}
	if sum.Sum64() != binary.LittleEndian.Uint64(end[8:]) {
		return nil, errDamaged
	}
	return p, nil
}

// partReader gives the rows of a part to a builder.
type partReader struct {
	*part
	f     *os.File
	z     *zstd.Decoder
	from  *bufio.Reader
	buf   []byte
	left  []byte // of the row
	short bool   // there was less than there should be
	text  []byte // of a bad row, as it was read

	row          []uint32 // names of the row before, in the builder
	names, items []int64  // of the builder, by those of the file; −1: not asked for yet
	order        []int    // of slots in the builder, by those of the file; nil: the same
	props        []float64
}

var errPart = errors.New("the cache of a file is damaged")

// open begins to read a part.
func (p *part) open(z *zstd.Decoder) (*partReader, error) {
	f, err := os.Open(p.path)
	if err != nil {
		return nil, err
	}
	if err := z.Reset(io.NewSectionReader(f, p.at, p.size)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r := &partReader{part: p, f: f, z: z, from: bufio.NewReaderSize(z, 1<<16)}
	r.names, r.items = slices.Repeat([]int64{-1}, len(p.Names)), slices.Repeat([]int64{-1}, len(p.ItemNames))
	return r, nil
}

func (r *partReader) close() error { return r.f.Close() }

func (r *partReader) raw() []byte { return r.text }

// begin brings what the reader found out to a builder, which has the rows of files before.
func (r *partReader) begin(b *builder, name string) error {
	b.base, b.actionsMin = r.Base, max(b.actionsMin, r.ActionsMin)
	if r.Among != "" && b.among != "" && r.Among != b.among {
		return fmt.Errorf("%s: its decisions were among the catalogue %.12s, those of files before among %.12s: read files of one catalogue together", name, r.Among, b.among)
	}
	b.among = cmp.Or(b.among, r.Among)
	b.sums, b.mayLack, b.lightly, b.costColumn = r.Sums, r.MayLack, r.Lightly, cmp.Or(b.costColumn, r.CostColumn)
	if len(r.Slots) == 0 {
		return nil
	}
	if b.unlisted() {
		b.slots, b.listed = slices.Clone(r.Slots), r.Listed
		return nil
	}
	if slices.Equal(b.slots, r.Slots) {
		return nil
	}
	for _, s := range r.Slots {
		i := slices.Index(b.slots, s)
		if i < 0 || len(r.Slots) != len(b.slots) {
			return fmt.Errorf("%s: propensities of the actions %s, and of %s in the files before", name, some(r.Slots), some(b.slots))
		}
		r.order = append(r.order, i)
	}
	return nil
}

func (r *partReader) number() uint64 {
	v, n := binary.Uvarint(r.left)
	if n <= 0 {
		r.left, r.short = nil, true
		return 0
	}
	r.left = r.left[n:]
	return v
}

// bytes are the next n, gone with the next row.
func (r *partReader) bytes(n uint64) []byte {
	if n > uint64(len(r.left)) {
		r.left, r.short = nil, true
		return nil
	}
	b := r.left[:n:n]
	r.left = r.left[n:]
	return b
}

func (r *partReader) string() []byte { return r.bytes(r.number()) }

// values appends the next n numbers to v.
func (r *partReader) values(v []float64, n int) []float64 {
	for b := r.bytes(8 * uint64(n)); len(b) > 0; b = b[8:] {
		v = append(v, math.Float64frombits(binary.LittleEndian.Uint64(b)))
	}
	return v
}

// named are the next names, by their numbers in the builder.
func (r *partReader) named(b *builder, to []uint32, texts []string, category []byte, known []int64) ([]uint32, error) {
	for range r.number() {
		i := r.number()
		if i >= uint64(len(known)) || r.short {
			r.short = true
			return to, nil
		}
		if known[i] < 0 {
			id, err := b.name([]byte(texts[i]), category[i] != 0)
			if err != nil {
				return to, err
			}
			known[i] = int64(id)
		}
		to = append(to, uint32(known[i]))
	}
	return to, nil
}

// next reads a row.
func (r *partReader) next(b *builder) error {
	size, err := binary.ReadUvarint(r.from)
	if err == io.EOF {
		return err
	}
	if err != nil || size > 1<<30 {
		return errPart
	}
	if uint64(cap(r.buf)) < size {
		r.buf = make([]byte, size)
	}
	r.buf = r.buf[:size]
	if _, err := io.ReadFull(r.from, r.buf); err != nil {
		return errPart
	}
	r.left, r.text = r.buf, nil
	if err = r.fill(b); r.short || len(r.left) > 0 && err == nil {
		return errPart
	}
	return err
}

func (r *partReader) fill(b *builder) error {
	has, to := r.number(), &b.row
	if has&partNone != 0 {
		return errNoDecision
	}
	to.unrewarded = int(r.number())
	if has&partBad != 0 {
		column, text := string(r.string()), string(r.string())
		r.text = r.string()
		return &rowError{column, text}
	}
	to.list = int(r.number())
	if forms := r.bytes(2); forms != nil {
		to.form, to.ids = jsontext.Kind(forms[0]), jsontext.Kind(forms[1])
	}
	for _, t := range []struct {
		bit uint64
		to  *[]byte
		has *bool
	}{{partID, &to.id, &to.hasID}, {partGroup, &to.group, &to.hasGroup}, {partAction, &to.action, &to.hasAction}, {partPolicy, &to.policy, new(bool)}} {
		if has&t.bit != 0 {
			*t.to, *t.has = append(*t.to, r.string()...), true
		}
	}
	if to.hasTime = has&partTime != 0; to.hasTime {
		v, n := binary.Varint(r.left)
		if n <= 0 {
			r.short = true
			return nil
		}
		to.time, r.left = v, r.left[n:]
	}
	three := r.values(r.props[:0], 3)
	if r.short {
		return nil
	}
	to.cost, to.p, to.weight = three[0], three[1], three[2]
	to.hasCost, to.hasP, to.hasWeight, to.listed, to.hasProps = has&partCost != 0, has&partP != 0, has&partWeight != 0, has&partListed != 0, has&partProps != 0
	if to.hasProps {
		n := r.number()
		if n > uint64(len(r.left)) {
			r.short = true
			return nil
		}
		r.props = r.values(three[:0], int(n))
		if to.props = append(to.props, r.props...); r.order != nil && !to.listed && len(r.props) == len(r.order) {
			for i, at := range r.order {
				to.props[at] = r.props[i]
			}
		}
	}
	g := &b.contexts
	if has&partNames != 0 {
		var err error
		if r.row, err = r.named(b, r.row[:0], r.Names, r.Category, r.names); err != nil {
			return err
		}
	}
	g.ids = append(g.ids, r.row...)
	g.vals = r.values(g.vals, len(r.row))
	if r.short {
		return nil
	}
	for i, id := range g.ids { // columns of the file's folders may follow
		g.stamp[id], g.place[id] = g.at, i
	}
	if has&partSet != 0 {
		return r.set(b)
	}
	return nil
}

// set reads what the row offers.
func (r *partReader) set(b *builder) error {
	if err := b.offering(string(r.string())); err != nil {
		return err
	}
	n, named, t := r.number(), r.number(), &b.items
	for range n {
		if r.short {
			return nil
		}
		var id []byte
		if named > 0 {
			id = r.string()
		}
		if len(id) == 0 { // it has none, which is an error of the row where others have one
			id = nil
		}
		b.option()
		before := len(t.ids)
		var err error
		if t.ids, err = r.named(b, t.ids, r.ItemNames, r.ItemCat, r.items); err != nil {
			return err
		}
		t.vals = r.values(t.vals, len(t.ids)-before)
		if err := b.optionID(0, id); err != nil {
			return err
		}
	}
	return nil
}

// list makes the slots of propensities those of a list.
func (b *builder) list() {
	b.slots, b.listed = b.slots[:0], true
	for i := range b.row.props {
		b.slots = append(b.slots, strconv.Itoa(i))
	}
}
