package logs

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"math/bits"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/delta"
	compact "github.com/parquet-go/parquet-go/encoding/thrift"
	logical "github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

const (
	heldPages = 512 << 20 // bytes, see pageChunk.claim
	chunkSize = 1 << 40   // bytes of an unpacked chunk, at most
	mostBlock = 1 << 16   // values of a block of differences; writers take 128 to 2,048
	runSlack  = 4096      // values by which writers fill up their last run

	plainDictionary logical.Encoding = 2 // the old name of RLEDictionary, and of a dictionary's own encoding
)

// openParquet opens a Parquet file, which may be damaged or made to do harm. The library believes every size and count
// in a file before it reads what they are of: of 20 files of 10 kB that claim too much it takes 2 to 16 GB for 7, and
// panics for 1. So it is given each column through a pageChunk, which unpacks pages by no more than they claim, and
// checks the counts within them.
func openParquet(f io.ReaderAt, size int64) (_ *parquet.File, chunks [][]*pageChunk, err error) {
	var end [8]byte
	if _, err := f.ReadAt(end[:], max(0, size-8)); err != nil || string(end[4:]) != "PAR1" {
		return nil, nil, errors.New("it has no end: is it still being written?")
	}
	footer, err := readFooter(f, size, int64(binary.LittleEndian.Uint32(end[:])))
	if err != nil {
		return nil, nil, err
	}
	var meta logical.FileMetaData
	if err := compact.Unmarshal(&compact.CompactProtocol{}, footer, &meta); err != nil {
		return nil, nil, err
	}
	for i := range meta.RowGroups {
		g, group := &meta.RowGroups[i], &pageGroup{limit: heldPages}
		chunks = append(chunks, nil)
		packed := int64(0)
		for j := range g.Columns {
			m := &g.Columns[j].MetaData
			c := &pageChunk{file: f, group: group, name: strings.Join(m.PathInSchema, "."), codec: m.Codec,
				from: m.DataPageOffset, values: m.NumValues}
			if m.DictionaryPageOffset != 0 {
				c.from = m.DictionaryPageOffset
				m.DictionaryPageOffset = 4
			}
			if c.to = c.from + m.TotalCompressedSize; c.from < 0 || m.TotalCompressedSize < 0 || c.to > size ||
				c.to < 0 {
				return nil, nil, fmt.Errorf("column %s: row group %d: bytes %d to %d of %d", c.name, i, c.from, c.to,
					size)
			}
			if c.values < 0 {
				return nil, nil, fmt.Errorf("column %s: row group %d: %d values", c.name, i, c.values)
			}
			packed += m.TotalCompressedSize
			chunks[i] = append(chunks[i], c)
			m.Codec, m.DataPageOffset, m.TotalCompressedSize = logical.Uncompressed, 4, chunkSize
		}
		group.limit = max(group.limit, 16*packed)
	}
	if footer, err = compact.Marshal(&compact.CompactProtocol{}, &meta); err != nil {
		return nil, nil, err
	}
	text := binary.LittleEndian.AppendUint32(append([]byte("PAR1"), footer...), uint32(len(footer)))
	alone := bytes.NewReader(append(text, "PAR1"...))
	open, err := parquet.OpenFile(alone, alone.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, nil, err
	}
	for i, g := range open.RowGroups() {
		for j, chunk := range g.ColumnChunks() {
			c := chunks[i][j]
			c.chunk = chunk.(*parquet.FileColumnChunk)
			c.column = c.chunk.Node().(*parquet.Column)
			if c.column.MaxRepetitionLevel() == 0 && c.values > g.NumRows() {
				return nil, nil, fmt.Errorf("column %s: %d values in a row group of %d rows", c.name, c.values,
					g.NumRows())
			}
		}
	}
	return open, chunks, nil
}

// pageGroup is a row group; of each of its columns a page is held at a time.
type pageGroup struct {
	mu          sync.Mutex
	held, limit int64
}

// pageChunk is a column of a row group. For the library it is a file, in which the column begins at byte 4, and whose
// pages are checked and unpacked when they are read.
type pageChunk struct {
	file     io.ReaderAt
	group    *pageGroup
	name     string
	column   *parquet.Column
	chunk    *parquet.FileColumnChunk
	codec    logical.CompressionCodec
	from, to int64 // in the file
	values   int64

	next   int64  // in the file, of the next page; 0: not begun
	left   int64  // values in the next pages
	page   int    // of what is held
	at     int64  // its address
	header []byte // of what is held
	plain  []byte // and its bytes
	packed []byte
	own    []byte // memory of plain, if it was packed
	held   int64
	err    error
}

// pages are those of the column, from the first.
func (c *pageChunk) pages() parquet.Pages { return c.chunk.PagesFrom(c) }

// ReadAt is io.ReaderAt's, for the library, which reads one page after the other.
func (c *pageChunk) ReadAt(p []byte, off int64) (n int, err error) {
	if c.err != nil {
		return 0, c.err
	}
	if c.next == 0 || off < c.at { // a dictionary is read again where it is asked for late
		c.next, c.left, c.page, c.at = c.from, c.values, -1, 4
		c.header, c.plain = c.header[:0], nil
	}
	for n < len(p) {
		of := off + int64(n) - c.at
		if h := int64(len(c.header)); of < h {
			n += copy(p[n:], c.header[of:])
			continue
		} else if of -= h; of < int64(len(c.plain)) {
			n += copy(p[n:], c.plain[of:])
			continue
		}
		if c.next >= c.to {
			if c.left > 0 {
				return n, fmt.Errorf("column %s: %d of %d values are missing", c.name, c.left, c.values)
			}
			c.own, c.packed, c.plain = nil, nil, nil
			c.at, c.header = off+int64(n), c.header[:0]
			return n, io.EOF
		}
		c.at += int64(len(c.header) + len(c.plain))
		c.page++
		if err := c.step(); err != nil {
			c.err = fmt.Errorf("column %s: page %d: %w", c.name, c.page, err)
			return n, c.err
		}
	}
	return n, nil
}

// step reads the next page.
func (c *pageChunk) step() error {
	var h logical.PageHeader
	for window := int64(256); ; window *= 8 {
		c.packed = grown(c.packed, int(min(window, c.to-c.next)))
		b := c.packed
		if _, err := c.file.ReadAt(b, c.next); err != nil {
			return err
		}
		t := thrift{left: b}
		if t.structure(0); t.err != nil {
			if int64(len(b)) == c.to-c.next {
				return errors.New("its header is damaged")
			}
			continue
		}
		b = b[:len(b)-len(t.left)]
		if err := compact.Unmarshal(&compact.CompactProtocol{}, b, &h); err != nil {
			return err
		}
		c.next += int64(len(b))
		break
	}
	packed, plain := int64(h.CompressedPageSize), int64(h.UncompressedPageSize)
	if packed < 0 || packed > c.to-c.next {
		return fmt.Errorf("of %d bytes, where %d are left", packed, c.to-c.next)
	}
	if err := c.claim(&h, packed, plain); err != nil {
		return err
	}
	c.packed = grown(c.packed, int(packed))
	text := c.packed
	if _, err := c.file.ReadAt(text, c.next); err != nil {
		return err
	}
	c.next += packed
	if h.CRC != 0 && crc32.ChecksumIEEE(text) != uint32(h.CRC) {
		return errors.New("its checksum is not that of its bytes")
	}
	if err := c.unpack(&h, text, plain); err != nil {
		return err
	}
	if err := c.check(&h); err != nil {
		return err
	}
	h.CRC, h.CompressedPageSize, h.UncompressedPageSize = 0, int32(len(c.plain)), int32(len(c.plain))
	h.DataPageHeader.V.Statistics, h.DataPageHeaderV2.V.Statistics = logical.Statistics{}, logical.Statistics{}
	var err error
	c.header, err = compact.Marshal(&compact.CompactProtocol{}, &h)
	return err
}

// expands is by how much a codec can expand bytes at most; 0: by far more than pages are.
var expands = map[logical.CompressionCodec]int64{logical.Uncompressed: 1, logical.Snappy: 32, logical.Lz4Raw: 256,
	logical.Gzip: 1040}

// claim refuses a header that claims more bytes than the packed ones can be, or more values than the chunk has. It
// limits the memory of the pages of a row group that are held together to 512 MiB, or to 16 times the group's bytes in
// the file, where that is more.
func (c *pageChunk) claim(h *logical.PageHeader, packed, plain int64) error {
	if by := expands[c.codec]; plain < 0 || by > 0 && plain > by*packed+64 {
		return fmt.Errorf("claims to unpack %d bytes to %d", packed, plain)
	}
	one, two := int64(h.DataPageHeader.V.NumValues), int64(h.DataPageHeaderV2.V.NumValues) // 0 of another kind of page
	n := max(one, two)
	if min(one, two) < 0 || n > c.left {
		return fmt.Errorf("claims %d values, where %d are left", cmp.Or(one, two), c.left)
	}
	c.left -= n
	memory := packed + 3*plain
	if n > 0 {
		memory += 5 * n // levels, offsets or indexes
		if c.column.MaxRepetitionLevel() > 0 {
			memory += n
		}
	}
	g := c.group
	g.mu.Lock()
	defer g.mu.Unlock()
	if memory > c.held {
		g.held, c.held = g.held+memory-c.held, memory
	}
	if g.held > g.limit {
		return fmt.Errorf("claims %d bytes and %d values: the row group would need %d bytes of memory at a time, "+
			"of at most %d", plain, n, g.held, g.limit)
	}
	return nil
}

// width is how many bits a value takes at least, written plainly.
func (c *pageChunk) width() int64 {
	switch t := c.column.Type(); t.Kind() {
	case parquet.Boolean:
		return 1
	case parquet.Int64, parquet.Double:
		return 64
	case parquet.Int96:
		return 96
	case parquet.FixedLenByteArray:
		return 8 * int64(max(1, t.Length()))
	default:
		return 32
	}
}

var unzstd = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true))
})

// unpack sets the page's bytes, at most n.
func (c *pageChunk) unpack(h *logical.PageHeader, text []byte, n int64) error {
	levels := int64(0)
	if v := h.DataPageHeaderV2.V; h.DataPageHeaderV2.Valid { // they are not packed
		rep, def := int64(v.RepetitionLevelsByteLength), int64(v.DefinitionLevelsByteLength)
		if levels = rep + def; rep < 0 || def < 0 || levels > int64(len(text)) || levels > n {
			return fmt.Errorf("levels of %d and %d bytes in %d", rep, def, len(text))
		}
		if v.IsCompressed.Valid && !v.IsCompressed.V {
			levels = int64(len(text))
		}
	}
	if c.codec == logical.Uncompressed || levels == int64(len(text)) {
		c.plain = text
		return nil
	}
	c.own = grown(c.own, int(n))
	to := c.own
	copy(to, text[:levels])
	text, out := text[levels:], to[levels:]
	m := 0
	var err error
	switch c.codec {
	case logical.Snappy:
		if m, err = snappy.DecodedLen(text); err == nil && m > len(out) {
			err = errLonger
		}
		if err == nil {
			_, err = snappy.Decode(out, text)
		}
	case logical.Zstd:
		var d *zstd.Decoder
		if d, err = unzstd(); err == nil {
			var b []byte
			b, err = d.DecodeAll(text, out[:0:len(out)])
			m = len(b)
		}
	case logical.Lz4Raw:
		m, err = lz4.UncompressBlock(text, out)
	case logical.Gzip:
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(text)); err == nil {
			m, err = fill(z, out)
		}
	case logical.Brotli:
		m, err = fill(brotli.NewReader(bytes.NewReader(text)), out)
	default:
		err = fmt.Errorf("packed by %v, which cannot be read here: write it with snappy, zstd or gzip", c.codec)
	}
	if err != nil {
		return fmt.Errorf("unpacking: %w", err)
	}
	c.plain = to[:levels+int64(m)]
	return nil
}

var errLonger = errors.New("more bytes than the page claims")

func fill(r io.Reader, to []byte) (int, error) {
	n, err := io.ReadFull(r, to)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return n, nil
	}
	if err != nil {
		return n, err
	}
	if m, err := r.Read(make([]byte, 1)); m > 0 {
		return n, errLonger
	} else if err != nil && err != io.EOF {
		return n, err
	}
	return n, nil
}

// check refuses counts within a page by which the library would take memory, and values that are not there.
func (c *pageChunk) check(h *logical.PageHeader) error {
	text, some := c.plain, int64(0) // values that are surely no nulls
	most := [2]int{c.column.MaxRepetitionLevel(), c.column.MaxDefinitionLevel()}
	switch d, v1, v2 := h.DictionaryPageHeader, h.DataPageHeader, h.DataPageHeaderV2; {
	case h.Type == logical.DictionaryPage && d.Valid:
		if e := d.V.Encoding; e != logical.Plain && e != plainDictionary {
			return fmt.Errorf("a dictionary encoded by %v", e)
		}
		if n := int64(d.V.NumValues); n < 0 || n*c.width() > 8*int64(len(text)) {
			return fmt.Errorf("claims a dictionary of %d values in %d bytes", n, len(text))
		}
		return nil
	case h.Type == logical.DataPage && v1.Valid:
		for i, e := range [2]logical.Encoding{v1.V.RepetitionLevelEncoding, v1.V.DefinitionLevelEncoding} {
			if most[i] == 0 {
				continue
			}
			if e != logical.RLE {
				return fmt.Errorf("levels: encoded by %v", e)
			}
			levels, rest, err := prefixed(text)
			if err == nil {
				some, err = runs(levels, bits.Len(uint(most[i])), int64(v1.V.NumValues), most[i])
			}
			if err != nil {
				return fmt.Errorf("levels: %w", err)
			}
			text = rest
		}
		if most[1] == 0 {
			some = int64(v1.V.NumValues)
		}
		return c.checkValues(text, v1.V.Encoding, int64(v1.V.NumValues), some)
	case h.Type == logical.DataPageV2 && v2.Valid:
		if n := v2.V.NumNulls; n < 0 || n > v2.V.NumValues {
			return fmt.Errorf("%d nulls among %d values", n, v2.V.NumValues)
		}
		for i, size := range [2]int32{v2.V.RepetitionLevelsByteLength, v2.V.DefinitionLevelsByteLength} {
			_, err := runs(text[:size], bits.Len(uint(most[i])), int64(v2.V.NumValues), most[i])
			if most[i] > 0 && err != nil {
				return fmt.Errorf("levels: %w", err)
			}
			text = text[size:]
		}
		return c.checkValues(text, v2.V.Encoding, int64(v2.V.NumValues), int64(v2.V.NumValues-v2.V.NumNulls))
	}
	return fmt.Errorf("a page of type %v without its header", h.Type)
}

// checkValues checks n values, of which some are surely no nulls.
func (c *pageChunk) checkValues(text []byte, e logical.Encoding, n, some int64) (err error) {
	kind := c.column.Type().Kind()
	switch {
	case e == logical.Plain, e == logical.ByteStreamSplit:
		if some*c.width() > 8*int64(len(text)) {
			return fmt.Errorf("%d values in %d bytes", some, len(text))
		}
		return nil
	case e == logical.RLE && kind == parquet.Boolean:
		values, _, err := prefixed(text)
		if err == nil {
			_, err = runs(values, 1, n, -1)
		}
		return err
	case len(text) == 0 && some == 0: // all are null
		return nil
	case len(text) == 0:
		return errCut
	case e == plainDictionary || e == logical.RLEDictionary:
		_, err = runs(text[1:], int(text[0]), n, -1)
		return err
	case e == logical.DeltaBinaryPacked && (kind == parquet.Int32 || kind == parquet.Int64),
		e == logical.DeltaLengthByteArray && kind == parquet.ByteArray:
		_, err := deltas(text, n)
		return err
	case e == logical.DeltaByteArray && (kind == parquet.ByteArray || kind == parquet.FixedLenByteArray):
		rest, err := deltas(text, n) // how much of the value before each value begins with
		if err == nil {
			_, err = deltas(rest, n)
		}
		if err != nil {
			return err
		}
		prefixes, err := new(delta.BinaryPackedEncoding).DecodeInt32(make([]int32, 0, n), text)
		sum := int64(0)
		for _, p := range prefixes {
			sum += int64(p)
		}
		if err == nil && (sum < 0 || sum > max(heldPages/8, 64*int64(len(text)))) {
			err = fmt.Errorf("values of %d bytes in %d", sum, len(text))
		}
		return err
	}
	return fmt.Errorf("values of type %v encoded by %v", kind, e)
}

var errCut = errors.New("cut off")

// prefixed is what a length of 4 bytes is before, and what is behind that.
func prefixed(text []byte) (part, rest []byte, err error) {
	if len(text) < 4 {
		return nil, nil, errCut
	}
	n := int64(binary.LittleEndian.Uint32(text))
	if n > int64(len(text)-4) {
		return nil, nil, errCut
	}
	return text[4 : 4+n], text[4+n:], nil
}

// runs checks runs of at most n numbers of so many bits: more are there but to fill up the last run. It counts the
// numbers that are most in runs of one number: those claim memory that is not in the file.
func runs(text []byte, width int, n int64, most int) (equal int64, err error) {
	if width > 32 {
		return 0, fmt.Errorf("numbers of %d bits", width)
	}
	for left := n; len(text) > 0; {
		u, k := binary.Uvarint(text)
		if k <= 0 {
			return 0, errCut
		}
		count, size := u>>1, uint64(width+7)/8
		if count > uint64(left)+runSlack {
			return 0, errRuns
		}
		text = text[k:]
		if u&1 != 0 {
			count, size = 8*count, count*uint64(width)
		} else if size == 1 && len(text) > 0 && int(text[0]) == most {
			equal += min(left, int64(count))
		}
		if count > uint64(left)+runSlack {
			return 0, errRuns
		}
		left = max(0, left-int64(count))
		text = text[min(uint64(len(text)), size):]
	}
	return equal, nil
}

var errRuns = errors.New("runs of more values than the page claims")

// deltas goes through differences of numbers, at most n, and returns what is behind them.
// See https://github.com/apache/parquet-format/blob/master/Encodings.md#delta-encoding-delta_binary_packed--5.
func deltas(text []byte, n int64) ([]byte, error) {
	number := func() uint64 {
		u, k := binary.Uvarint(text)
		if k <= 0 {
			text = nil
			return 0
		}
		text = text[k:]
		return u
	}
	block, parts, total := number(), number(), number()
	number() // the first value
	if total > uint64(n) {
		return nil, fmt.Errorf("%d differences for %d values", total, n)
	}
	if parts == 0 || block > mostBlock || block%parts != 0 { // of which the library takes memory, whatever is there
		return nil, fmt.Errorf("blocks of %d values in %d", block, parts)
	}
	for each := block / parts; total > 1; {
		number() // the least difference
		if uint64(len(text)) < parts || each == 0 {
			return nil, errCut
		}
		widths := text[:parts]
		text = text[parts:]
		for _, w := range widths {
			if total <= 1 {
				break
			}
			if w > 64 {
				return nil, fmt.Errorf("differences of %d bits", w)
			}
			size := min(each*uint64(w)/8, uint64(len(text))) // the last may be cut
			text = text[size:]
			total -= min(total-1, each)
		}
	}
	return text, nil
}

// readFooter reads the footer of n bytes. It refuses one that claims more than there is: a length beyond the file's, or
// lists and texts beyond its own end, for which the library would take memory before anything else, up to gigabytes.
func readFooter(f io.ReaderAt, size, n int64) ([]byte, error) {
	if n > size-12 {
		return nil, fmt.Errorf("a footer of %d bytes in a file of %d", n, size)
	}
	text := make([]byte, n)
	if _, err := f.ReadAt(text, size-8-n); err != nil {
		return nil, err
	}
	t := thrift{left: text}
	t.structure(0)
	return text, t.err
}

// thrift goes through a structure in Thrift's compact protocol. See
// https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md.
type thrift struct {
	left []byte
	err  error
}

// fail ends the reading: nothing is left.
func (t *thrift) fail() { t.left, t.err = nil, errors.New("its footer is damaged") }

// structure goes through a structure inside so many others.
func (t *thrift) structure(depth int) {
	for t.err == nil {
		field := t.octet()
		if field == 0 {
			return
		}
		if field>>4 == 0 {
			t.number() // of the field
		}
		if kind := field & 15; kind != 1 && kind != 2 { // true and false have no more bytes
			t.values(1, depth, kind)
		}
	}
}

// values goes through n times values of the kinds, none of which is shorter than a byte.
func (t *thrift) values(n uint64, depth int, kinds ...byte) {
	if n > uint64(len(t.left)) || depth > deepest {
		t.fail()
		return
	}
	for i := uint64(0); i < n*uint64(len(kinds)) && t.err == nil; i++ {
		switch kinds[i%uint64(len(kinds))] {
		case 1, 2, 3: // true, false and a byte
			t.skip(1)
		case 4, 5, 6: // integers
			t.number()
		case 7: // a number of 64 bits
			t.skip(8)
		case 8: // bytes
			t.skip(t.number())
		case 9, 10: // a list, a set
			head := t.octet()
			n := uint64(head >> 4)
			if n == 15 {
				n = t.number()
			}
			t.values(n, depth+1, head&15)
		case 11: // a map
			if n := t.number(); n > 0 {
				kinds := t.octet()
				t.values(n, depth+1, kinds>>4, kinds&15)
			}
		case 12:
			t.structure(depth + 1)
		case 13: // a UUID
			t.skip(16)
		default:
			t.fail()
		}
	}
}

func (t *thrift) octet() byte {
	if len(t.left) == 0 {
		t.fail()
		return 0
	}
	b := t.left[0]
	t.left = t.left[1:]
	return b
}

func (t *thrift) number() uint64 {
	v, n := binary.Uvarint(t.left)
	if n <= 0 {
		t.fail()
		return math.MaxUint64
	}
	t.left = t.left[n:]
	return v
}

func (t *thrift) skip(n uint64) {
	if n > uint64(len(t.left)) {
		t.fail()
		return
	}
	t.left = t.left[n:]
}
