package logs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
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
	chunkBits = 40        // of an address within a chunk
	runSlack  = 4096      // values by which writers fill up their last run

	plainDictionary logical.Encoding = 2 // the old name of RLEDictionary, and of a dictionary's own encoding
)

// openParquet opens a Parquet file, which may be damaged or made to do harm. The library believes
// every size and count in a file before it reads what they are of, and takes gigabytes for a few
// bytes. So it is given another file: the same footer and pages, these unpacked here, by no more than
// they claim, and with counts that their bytes can hold.
func openParquet(f io.ReaderAt, size int64) (*parquet.File, error) {
	var end [8]byte
	if _, err := f.ReadAt(end[:], max(0, size-8)); err != nil || string(end[4:]) != "PAR1" {
		return nil, fmt.Errorf("it has no end: is it still being written?")
	}
	if err := checkFooter(f, size); err != nil {
		return nil, err
	}
	footer := make([]byte, binary.LittleEndian.Uint32(end[:]))
	if _, err := f.ReadAt(footer, size-8-int64(len(footer))); err != nil {
		return nil, err
	}
	var meta logical.FileMetaData
	if err := compact.Unmarshal(&compact.CompactProtocol{}, footer, &meta); err != nil {
		return nil, err
	}
	v := &pagesFile{file: f}
	for i := range meta.RowGroups {
		g, group := &meta.RowGroups[i], &pageGroup{}
		for j := range g.Columns {
			m := &g.Columns[j].MetaData
			name := strings.Join(m.PathInSchema, ".")
			c := &pageChunk{group: group, name: name, codec: m.Codec, from: m.DataPageOffset}
			if m.DictionaryPageOffset != 0 {
				c.from = m.DictionaryPageOffset
			}
			if c.to = c.from + m.TotalCompressedSize; c.from < 0 || m.TotalCompressedSize < 0 || c.to > size || c.to < 0 {
				return nil, fmt.Errorf("column %s: row group %d: bytes %d to %d of %d", name, i, c.from, c.to, size)
			}
			if c.values = m.NumValues; c.values < 0 {
				return nil, fmt.Errorf("column %s: row group %d: %d values", name, i, c.values)
			}
			c.rows = g.NumRows
			group.limit += 16 * m.TotalCompressedSize
			v.chunks = append(v.chunks, c)
			at := int64(len(v.chunks)) << chunkBits
			m.Codec, m.DataPageOffset, m.TotalCompressedSize = logical.Uncompressed, at, 1<<chunkBits
			if m.DictionaryPageOffset != 0 {
				m.DictionaryPageOffset = at
			}
		}
		group.limit = max(group.limit, heldPages)
	}
	footer, err := compact.Marshal(&compact.CompactProtocol{}, &meta)
	if err != nil {
		return nil, err
	}
	v.footer = binary.LittleEndian.AppendUint32(footer, uint32(len(footer)))
	v.footer = append(v.footer, "PAR1"...)
	v.end = int64(len(v.chunks)+1) << chunkBits
	open, err := parquet.OpenFile(v, v.end+int64(len(v.footer)), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	i := 0
	for _, g := range open.RowGroups() {
		for _, chunk := range g.ColumnChunks() {
			c := v.chunks[i]
			c.column = chunk.(*parquet.FileColumnChunk).Node().(*parquet.Column)
			if c.column.MaxRepetitionLevel() == 0 && c.values > c.rows {
				return nil, fmt.Errorf("column %s: %d values in a row group of %d rows", c.name, c.values, c.rows)
			}
			i++
		}
	}
	return open, nil
}

// pagesFile is a Parquet file whose pages are checked and unpacked when they are read. The i-th chunk
// is at the address (i+1)·2^40, as long as it comes out.
type pagesFile struct {
	file   io.ReaderAt
	chunks []*pageChunk
	footer []byte
	end    int64 // where the footer begins
}

// pageGroup is a row group; of each of its columns a page is held at a time.
type pageGroup struct {
	mu          sync.Mutex
	held, limit int64
}

// pageChunk is a column of a row group.
type pageChunk struct {
	group        *pageGroup
	name         string
	column       *parquet.Column
	codec        logical.CompressionCodec
	from, to     int64 // in the file
	values, rows int64

	mu     sync.Mutex
	next   int64  // in the file, of the next page
	left   int64  // values in the next pages
	page   int    // of what is held
	at     int64  // its address in the chunk
	header []byte // of what is held
	plain  []byte // and its bytes
	packed []byte
	own    []byte // memory of plain, if it was packed
	held   int64
	begun  bool
	err    error
}

// ReadAt is io.ReaderAt's, for the library.
func (v *pagesFile) ReadAt(p []byte, off int64) (int, error) {
	switch i := off>>chunkBits - 1; {
	case off < 0 || off >= v.end+int64(len(v.footer)):
		return 0, io.EOF
	case off < 4:
		return copyAt(p, []byte("PAR1"), off)
	case off >= v.end:
		return copyAt(p, v.footer, off-v.end)
	case i < 0:
		return 0, io.EOF
	default:
		return v.chunks[i].readAt(v.file, p, off&(1<<chunkBits-1))
	}
}

func copyAt(p, from []byte, off int64) (int, error) {
	n := copy(p, from[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (c *pageChunk) readAt(f io.ReaderAt, p []byte, off int64) (n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, c.err
	}
	if !c.begun || off < c.at { // a dictionary is read again where it is asked for late
		c.begun, c.next, c.left, c.page, c.at = true, c.from, c.values, -1, 0
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
		if err := c.step(f); err != nil {
			c.err = fmt.Errorf("column %s: page %d: %w", c.name, c.page, err)
			return n, c.err
		}
	}
	return n, nil
}

// step reads the next page.
func (c *pageChunk) step(f io.ReaderAt) error {
	var h logical.PageHeader
	for window := int64(256); ; window *= 8 {
		b := c.bytes(&c.packed, min(window, c.to-c.next))
		if _, err := f.ReadAt(b, c.next); err != nil {
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
	text := c.bytes(&c.packed, packed)
	if _, err := f.ReadAt(text, c.next); err != nil {
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

func (c *pageChunk) bytes(of *[]byte, n int64) []byte {
	if int64(cap(*of)) < n {
		*of = make([]byte, n)
	}
	return (*of)[:n]
}

// expands is by how much a codec can expand bytes at most; 0: by far more than pages are.
var expands = map[logical.CompressionCodec]int64{logical.Uncompressed: 1, logical.Snappy: 32, logical.Lz4Raw: 256, logical.Gzip: 1040}

// claim refuses what a header claims: more bytes than the packed ones can be, more values than
// the chunk has, and more memory than 512 MiB for the pages of a row group that are held together, or than 16
// times the group's bytes in the file, where that is more.
func (c *pageChunk) claim(h *logical.PageHeader, packed, plain int64) error {
	if by := expands[c.codec]; plain < 0 || by > 0 && plain > by*packed+64 {
		return fmt.Errorf("claims to unpack %d bytes to %d", packed, plain)
	}
	n := int64(0)
	for _, count := range []struct {
		valid bool
		n     int32
	}{{h.DataPageHeader.Valid, h.DataPageHeader.V.NumValues}, {h.DataPageHeaderV2.Valid, h.DataPageHeaderV2.V.NumValues}} {
		if count.valid {
			n = max(n, int64(count.n))
			if count.n < 0 || n > c.left {
				return fmt.Errorf("claims %d values, where %d are left", count.n, c.left)
			}
		}
	}
	c.left -= n
	if d := h.DictionaryPageHeader; d.Valid {
		if bit := 8 * plain; d.V.NumValues < 0 || int64(d.V.NumValues)*c.width() > bit {
			return fmt.Errorf("claims a dictionary of %d values in %d bytes", d.V.NumValues, plain)
		}
	}
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
		return fmt.Errorf("claims %d bytes and %d values: the row group would need %d bytes of memory at a time, of at most %d", plain, n, g.held, g.limit)
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
	to := c.bytes(&c.own, n)
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

// fill reads all of r.
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

// check refuses counts within a page by which the library would take memory.
func (c *pageChunk) check(h *logical.PageHeader) error {
	text := c.plain
	switch {
	case h.Type == logical.DictionaryPage && h.DictionaryPageHeader.Valid:
		if e := h.DictionaryPageHeader.V.Encoding; e != logical.Plain && e != plainDictionary {
			return fmt.Errorf("a dictionary encoded by %v", e)
		}
		if n := int64(h.DictionaryPageHeader.V.NumValues); n*c.width() > 8*int64(len(text)) {
			return fmt.Errorf("a dictionary of %d values in %d bytes", n, len(text))
		}
		return nil
	case h.Type == logical.DataPage && h.DataPageHeader.Valid:
		v, n := h.DataPageHeader.V, int64(h.DataPageHeader.V.NumValues)
		some := n // that are no nulls
		for _, l := range []struct {
			most     int
			encoding logical.Encoding
		}{{c.column.MaxRepetitionLevel(), v.RepetitionLevelEncoding}, {c.column.MaxDefinitionLevel(), v.DefinitionLevelEncoding}} {
			if l.most == 0 {
				continue
			}
			levels, rest, err := prefixed(text)
			if err == nil && l.encoding != logical.RLE {
				err = fmt.Errorf("encoded by %v", l.encoding)
			}
			if err == nil {
				some, err = runs(levels, bits.Len(uint(l.most)), n, l.most)
			}
			if err != nil {
				return fmt.Errorf("levels: %w", err)
			}
			text = rest
		}
		if c.column.MaxDefinitionLevel() == 0 {
			some = n
		}
		return c.checkValues(text, v.Encoding, some)
	case h.Type == logical.DataPageV2 && h.DataPageHeaderV2.Valid:
		v, n := h.DataPageHeaderV2.V, int64(h.DataPageHeaderV2.V.NumValues)
		if v.NumNulls < 0 || int64(v.NumNulls) > n {
			return fmt.Errorf("%d nulls among %d values", v.NumNulls, n)
		}
		rep, def, some := v.RepetitionLevelsByteLength, v.DefinitionLevelsByteLength, n
		var err error
		if most := c.column.MaxRepetitionLevel(); most > 0 && rep > 0 {
			_, err = runs(text[:rep], bits.Len(uint(most)), n, most)
		}
		if most := c.column.MaxDefinitionLevel(); most > 0 && def > 0 && err == nil {
			some, err = runs(text[rep:rep+def], bits.Len(uint(most)), n, most)
		}
		if err == nil && some != n-int64(v.NumNulls) {
			err = fmt.Errorf("%d nulls, where %d are claimed", n-some, v.NumNulls)
		}
		if err != nil {
			return fmt.Errorf("levels: %w", err)
		}
		return c.checkValues(text[rep+def:], v.Encoding, n-int64(v.NumNulls))
	}
	return fmt.Errorf("a page of type %v without its header", h.Type)
}

// checkValues checks n values: that there are as many.
func (c *pageChunk) checkValues(text []byte, e logical.Encoding, n int64) error {
	kind := c.column.Type().Kind()
	fixed := kind == parquet.FixedLenByteArray
	switch {
	case e == logical.Plain && kind == parquet.ByteArray:
		rest := text
		for range n {
			var err error
			if _, rest, err = prefixed(rest); err != nil {
				return err
			}
		}
		if len(rest) > 0 {
			return fmt.Errorf("%d bytes behind %d values", len(rest), n)
		}
		return nil
	case e == logical.Plain, e == logical.ByteStreamSplit:
		if n*c.width() > 8*int64(len(text)) {
			return fmt.Errorf("%d values in %d bytes", n, len(text))
		}
		return nil
	case e == plainDictionary || e == logical.RLEDictionary:
		if n == 0 {
			return nil
		}
		if len(text) == 0 {
			return errCut
		}
		_, err := runs(text[1:], int(text[0]), n, -1)
		return err
	case e == logical.RLE && kind == parquet.Boolean:
		values, _, err := prefixed(text)
		if err == nil {
			_, err = runs(values, 1, n, -1)
		}
		return err
	case n == 0:
		return nil
	case e == logical.DeltaBinaryPacked && (kind == parquet.Int32 || kind == parquet.Int64), e == logical.DeltaLengthByteArray && kind == parquet.ByteArray:
		_, err := deltas(text, n)
		return err
	case e == logical.DeltaByteArray && (kind == parquet.ByteArray || fixed):
		rest, err := deltas(text, n) // how much of the value before each value begins with
		if err == nil {
			_, err = deltas(rest, n)
		}
		if err != nil {
			return err
		}
		prefixes, err := new(delta.BinaryPackedEncoding).DecodeInt32(make([]int32, 0, n), text)
		if err != nil {
			return err
		}
		sum := int64(0)
		for _, p := range prefixes {
			sum += int64(p)
		}
		if sum < 0 || sum > max(heldPages/8, 64*int64(len(text))) {
			return fmt.Errorf("values of %d bytes in %d", sum, len(text))
		}
		return nil
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

// runs checks runs of n numbers of so many bits, and returns how many of them are most; -1: none are
// counted. More than n are there but to fill up the last run.
func runs(text []byte, width int, n int64, most int) (equal int64, err error) {
	if width > 32 {
		return 0, fmt.Errorf("numbers of %d bits", width)
	}
	left := n
	for len(text) > 0 && left > 0 {
		u, k := binary.Uvarint(text)
		if k <= 0 {
			return 0, errCut
		}
		text = text[k:]
		count, size := u>>1, uint64(width+7)/8
		if count > uint64(left)+runSlack {
			return 0, errRuns
		}
		if u&1 != 0 {
			count, size = 8*count, count*uint64(width)
		}
		if size > uint64(len(text)) {
			return 0, errCut
		}
		if count > uint64(left)+runSlack {
			return 0, errRuns
		}
		used := min(int64(count), left)
		switch {
		case most < 0:
		case u&1 == 0:
			value := 0
			for i := range size {
				value |= int(text[i]) << (8 * i)
			}
			if value == most {
				equal += used
			}
		case width == 1:
			for _, b := range text[:used/8] {
				equal += int64(bits.OnesCount8(b))
			}
			if r := used % 8; r > 0 {
				equal += int64(bits.OnesCount8(text[used/8] << (8 - r)))
			}
		default: // at most 8 bits each
			for i := range int(used) {
				at := i * width
				b := int(text[at/8])
				if at%8+width > 8 {
					b |= int(text[at/8+1]) << 8
				}
				if b>>(at%8)&(1<<width-1) == most {
					equal++
				}
			}
		}
		left -= used
		text = text[size:]
	}
	if left > 0 {
		return 0, fmt.Errorf("%d numbers, where the page claims %d", n-left, n)
	}
	for len(text) > 0 { // runs beyond what is claimed are decoded, too
		u, k := binary.Uvarint(text)
		if k <= 0 || u > runSlack {
			return 0, errRuns
		}
		size := uint64(width+7) / 8
		if u&1 != 0 {
			size = u >> 1 * uint64(width)
		}
		text = text[min(uint64(len(text)), uint64(k)+size):]
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
	if total != uint64(n) {
		return nil, fmt.Errorf("%d differences for %d values", total, n)
	}
	if parts == 0 || parts > 1<<16 || block > 1<<24 || block%parts != 0 {
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
			size := min(each*uint64(w)/8, uint64(len(text))) // the last may be cut
			text = text[size:]
			total -= min(total-1, each)
		}
	}
	return text, nil
}
