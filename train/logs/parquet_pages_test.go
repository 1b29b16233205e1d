package logs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	compact "github.com/parquet-go/parquet-go/encoding/thrift"
	logical "github.com/parquet-go/parquet-go/format"
)

type pageRow struct {
	A int64     `parquet:"a,delta"`
	B *string   `parquet:"b,optional,dict"`
	C []float64 `parquet:"c,list"`
	D string    `parquet:"d,delta"`
	E bool      `parquet:"e"`
	F float32   `parquet:"f,split"`
	G [5]byte   `parquet:"g"`
	H *int32    `parquet:"h,optional"`
}

func pageRows(n int) []pageRow {
	rows := make([]pageRow, n)
	for i := range rows {
		s, k := fmt.Sprint("text", i%3), int32(i)
		rows[i] = pageRow{A: int64(i * i), C: make([]float64, 0, i%4), D: strings.Repeat("ab", i%5), E: i%2 == 0, F: float32(i), G: [5]byte{byte(i)}}
		for j := range i % 4 {
			rows[i].C = append(rows[i].C, float64(j))
		}
		if i%5 > 0 {
			rows[i].B = &s
		}
		if i%7 > 0 {
			rows[i].H = &k
		}
	}
	return rows
}

// readPages reads all rows of a file, and says how much memory that took in all.
func readPages(b []byte) (rows []parquet.Row, took uint64, err error) {
	var from, to runtime.MemStats
	runtime.ReadMemStats(&from)
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
		runtime.ReadMemStats(&to)
		took = to.TotalAlloc - from.TotalAlloc
	}()
	_, chunks, err := openParquet(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, 0, err
	}
	buf := make([]parquet.Value, 16)
	for _, group := range chunks {
		first := len(rows)
		for _, c := range group {
			pages, at := c.pages(), first-1
			defer pages.Close()
			for {
				page, err := pages.ReadPage()
				if err == io.EOF {
					break
				}
				if err != nil {
					return rows, 0, err
				}
				values := page.Values()
				for n, err := 1, error(nil); err == nil; {
					n, err = values.ReadValues(buf)
					for _, v := range buf[:n] {
						if v.RepetitionLevel() == 0 {
							at++
						}
						if at == len(rows) {
							rows = append(rows, nil)
						}
						rows[at] = append(rows[at], v.Clone())
					}
					if err != nil && err != io.EOF {
						return rows, 0, err
					}
				}
			}
		}
	}
	return rows, 0, nil
}

func written(t *testing.T, o ...parquet.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[pageRow](&b, append(o, parquet.PageBufferSize(500))...)
	if _, err := w.Write(pageRows(200)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Files of every codec and version of pages are read as they were written; damaged anywhere, none takes much
// memory. OPL_LONG=1 damages each byte of them.
func TestParquet_ReadsEveryCodecAndPageVersion(t *testing.T) {
	want, schema := pageRows(200), parquet.SchemaOf(pageRow{})
	for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Zstd, &parquet.Lz4Raw, &parquet.Brotli} {
		for version := 1; version <= 2; version++ {
			name := fmt.Sprint(codec, " ", version)
			b := written(t, parquet.Compression(codec), parquet.DataPageVersion(version))
			got, _, err := readPages(b)
			if err != nil || len(got) != len(want) {
				t.Fatalf("%s: %d rows, %v", name, len(got), err)
			}
			for i := range want {
				if row := schema.Deconstruct(nil, want[i]); !slices.EqualFunc(row, got[i], parquet.DeepEqual) {
					t.Fatalf("%s: row %d: %+v, want %+v", name, i, got[i], row)
				}
			}
			every := 151
			if os.Getenv("OPL_LONG") != "" {
				every = 1
			}
			for i := version; i < len(b); i += every {
				for _, x := range []byte{0x80, 0x55, 0xff} {
					b[i] ^= x
					if _, took, err := readPages(b); took > 64<<20 {
						t.Fatalf("%s: byte %d by %#x: %d bytes of memory, %v", name, i, x, took, err)
					}
					b[i] ^= x
				}
			}
		}
	}
}

// damagedPage is a file whose column's first page that is a dictionary, or is none, and whose other data have
// been changed, at another place in the file.
func damagedPage(t *testing.T, b []byte, column int, dictionary bool, change func(*logical.PageHeader, []byte, *logical.ColumnMetaData) []byte) []byte {
	t.Helper()
	size := int(binary.LittleEndian.Uint32(b[len(b)-8:]))
	var meta logical.FileMetaData
	if err := compact.Unmarshal(&compact.CompactProtocol{}, b[len(b)-8-size:len(b)-8], &meta); err != nil {
		t.Fatal(err)
	}
	m := &meta.RowGroups[0].Columns[column].MetaData
	from := m.DataPageOffset
	if m.DictionaryPageOffset != 0 {
		from = m.DictionaryPageOffset
	}
	left, done := b[from:from+m.TotalCompressedSize], false
	out := slices.Clone(b[:len(b)-8-size])
	at := int64(len(out))
	for len(left) > 0 {
		skip := thrift{left: left}
		skip.structure(0)
		var h logical.PageHeader
		if err := compact.Unmarshal(&compact.CompactProtocol{}, left[:len(left)-len(skip.left)], &h); err != nil {
			t.Fatal(err)
		}
		text := skip.left[:h.CompressedPageSize]
		left = skip.left[h.CompressedPageSize:]
		if (h.Type == logical.DictionaryPage) == dictionary && !done {
			done, h.CRC = true, 0
			text = change(&h, slices.Clone(text), m)
		}
		head, err := compact.Marshal(&compact.CompactProtocol{}, &h)
		if err != nil {
			t.Fatal(err)
		}
		out = append(append(out, head...), text...)
	}
	m.TotalCompressedSize, m.DataPageOffset = int64(len(out))-at, at
	if m.DictionaryPageOffset != 0 {
		m.DictionaryPageOffset = at
	}
	foot, err := compact.Marshal(&compact.CompactProtocol{}, &meta)
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.LittleEndian.AppendUint32(append(out, foot...), uint32(len(foot))), "PAR1"...)
}

// What a page claims and its bytes cannot hold is refused, by the name of its column, with little memory.
func TestParquet_RefusesPagesThatClaimTooMuch(t *testing.T) {
	const most = math.MaxInt32
	claim := func(set func(h *logical.PageHeader)) func(*logical.PageHeader, []byte, *logical.ColumnMetaData) []byte {
		return func(h *logical.PageHeader, b []byte, _ *logical.ColumnMetaData) []byte { set(h); return b }
	}
	text := func(set func(b []byte) []byte) func(*logical.PageHeader, []byte, *logical.ColumnMetaData) []byte {
		return func(h *logical.PageHeader, b []byte, _ *logical.ColumnMetaData) []byte {
			b = set(b)
			h.CompressedPageSize, h.UncompressedPageSize = int32(len(b)), int32(len(b))
			return b
		}
	}
	plain, packed := []parquet.WriterOption{parquet.DataPageVersion(1)}, []parquet.WriterOption{parquet.DataPageVersion(1), parquet.Compression(&parquet.Snappy)}
	long := binary.AppendUvarint(nil, most-1) // a run
	for name, c := range map[string]struct {
		options    []parquet.WriterOption
		column     int
		dictionary bool
		change     func(*logical.PageHeader, []byte, *logical.ColumnMetaData) []byte
		want       string
	}{
		"as it was":      {plain, 0, false, claim(func(h *logical.PageHeader) {}), ""},
		"packed":         {plain, 0, false, claim(func(h *logical.PageHeader) { h.CompressedPageSize = most }), "column a: page 0: of 2147483647 bytes, where "},
		"negative":       {plain, 0, false, claim(func(h *logical.PageHeader) { h.UncompressedPageSize = -1 }), "column a: page 0: claims to unpack "},
		"unpacked":       {packed, 0, false, claim(func(h *logical.PageHeader) { h.UncompressedPageSize = most }), "column a: page 0: claims to unpack "},
		"zstd":           {[]parquet.WriterOption{parquet.Compression(&parquet.Zstd)}, 0, false, claim(func(h *logical.PageHeader) { h.UncompressedPageSize = most }), "column a: page 0: claims 2147483647 bytes"},
		"values":         {plain, 0, false, claim(func(h *logical.PageHeader) { h.DataPageHeader.V.NumValues = most }), "column a: page 0: claims 2147483647 values"},
		"values, of all": {plain, 0, false, func(h *logical.PageHeader, b []byte, m *logical.ColumnMetaData) []byte { m.NumValues = most; return b }, "column a: 2147483647 values in a row group of 200 rows"},
		"values of a list": {plain, 2, false, func(h *logical.PageHeader, b []byte, m *logical.ColumnMetaData) []byte {
			m.NumValues, h.DataPageHeader.V.NumValues = most, most
			return b
		}, "column c.list.element: page 0: claims "},
		"values of version 2":   {[]parquet.WriterOption{parquet.DataPageVersion(2)}, 0, false, claim(func(h *logical.PageHeader) { h.DataPageHeaderV2.V.NumValues = most }), "column a: page 0: claims 2147483647 values"},
		"nulls":                 {[]parquet.WriterOption{parquet.DataPageVersion(2)}, 7, false, claim(func(h *logical.PageHeader) { h.DataPageHeaderV2.V.NumNulls-- }), "column h: page 0: "},
		"levels of version 2":   {[]parquet.WriterOption{parquet.DataPageVersion(2)}, 7, false, claim(func(h *logical.PageHeader) { h.DataPageHeaderV2.V.DefinitionLevelsByteLength = most }), "column h: page 0: levels of 0 and 2147483647 bytes"},
		"dictionary":            {plain, 1, true, claim(func(h *logical.PageHeader) { h.DictionaryPageHeader.V.NumValues = most }), "column b: page 0: claims a dictionary of 2147483647 values"},
		"dictionary's encoding": {plain, 1, true, claim(func(h *logical.PageHeader) { h.DictionaryPageHeader.V.Encoding = logical.RLE }), "column b: page 0: a dictionary encoded by"},
		"a page lost": {plain, 0, false, func(h *logical.PageHeader, b []byte, m *logical.ColumnMetaData) []byte {
			h.Type = logical.IndexPage
			return b
		}, "column a: page 0: a page of type"},
		"fewer values": {plain, 4, false, claim(func(h *logical.PageHeader) { h.DataPageHeader.V.NumValues -= 8 }), "column e: 8 of 200 values are missing"},
		"differences":  {plain, 0, false, text(func(b []byte) []byte { return append([]byte("\x80\x01\x04"), append(long, b[4:]...)...) }), "column a: page 0: 2147483646 differences for "},
		"runs of levels": {plain, 7, false, text(func(b []byte) []byte {
			return append([]byte{byte(len(long) + 1), 0, 0, 0}, append(append(long, 1), b...)...)
		}), "column h: page 0: levels: runs of more values"},
		"numbers that levels claim": {plain, 7, false, func(h *logical.PageHeader, _ []byte, _ *logical.ColumnMetaData) []byte {
			run := append(binary.AppendUvarint(nil, uint64(h.DataPageHeader.V.NumValues)<<1), 1)
			b := append(append([]byte{byte(len(run)), 0, 0, 0}, run...), 0, 0, 0, 0)
			h.CompressedPageSize, h.UncompressedPageSize = int32(len(b)), int32(len(b))
			return b
		}, "column h: page 0: "},
		"runs of a dictionary": {plain, 1, false, text(func(b []byte) []byte {
			n := 4 + binary.LittleEndian.Uint32(b)
			return append(b[:n+1:n+1], append(long, 1, 1, 1, 1)...)
		}), "column b: page 1: runs of more values"},
		"numbers that are not there": {plain, 6, false, text(func(b []byte) []byte { return b[:len(b)-5] }), "column g: page 0: "},
		"texts that are not there":   {plain, 3, false, claim(func(h *logical.PageHeader) { h.DataPageHeader.V.Encoding = logical.Plain }), "column d: page 0: "},
	} {
		t.Run(name, func(t *testing.T) {
			b := damagedPage(t, written(t, c.options...), c.column, c.dictionary, c.change)
			rows, took, err := readPages(b)
			if c.want == "" && (err != nil || len(rows) != 200) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%d rows, %v, want %q", len(rows), err, c.want)
			}
			if took > 16<<20 {
				t.Errorf("%d bytes of memory", took)
			}
		})
	}
}
