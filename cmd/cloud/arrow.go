package cloud

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/go-json-experiment/json/jsontext"
	flatbuffers "github.com/google/flatbuffers/go"

	"opl/train/logs"
)

// Unpack lists the formats that this module adds: Arrow's record batches, as a stream or a file.
var Unpack = map[string]logs.Unpack{"arrow": {Magic: []string{fileMagic, "\xff\xff\xff\xff"}, Open: Arrow}}

const (
	fileMagic = "ARROW1\x00\x00"
	most      = 1 << 30 // bytes that a message may claim
)

// Arrow reads Arrow's IPC streams and files as JSON Lines, a row each, batch by batch. A file is a stream between its
// magic and its footer. An error says that the stream ends before its mark of the end, is damaged, or claims more
// than 1 GiB at once; hostile bytes do not panic.
func Arrow(r io.Reader) (rows io.Reader, err error) {
	defer recovered(&err)
	in := bufio.NewReader(r)
	first, _ := in.Peek(len(fileMagic))
	file := string(first) == fileMagic
	if file {
		_, _ = in.Discard(len(fileMagic))
	}
	mem := limited{memory.NewGoAllocator()}
	batches, err := ipc.NewReaderFromMessageReader(&messages{in: in, mem: mem, file: file}, ipc.WithAllocator(mem))
	if err != nil {
		return nil, fmt.Errorf("Arrow stream: %w", err)
	}
	return &arrowRows{batches: batches}, nil
}

// recovered turns a panic of the reader, which checks some claims and not others, into an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("Arrow stream: it is damaged: %v", p)
	}
}

// limited refuses lengths that only damaged bytes claim, which would end the process.
type limited struct{ memory.Allocator }

func (l limited) Allocate(size int) []byte {
	if size > most {
		panic(fmt.Sprintf("it claims %d bytes at once", size))
	}
	return l.Allocator.Allocate(size)
}

func (l limited) Reallocate(size int, b []byte) []byte {
	if size > most {
		panic(fmt.Sprintf("it claims %d bytes at once", size))
	}
	return l.Allocator.Reallocate(size, b)
}

// messages are those of a stream. They are read here since the library's reader takes the end of the bytes for the
// end of the stream, and any length that metadata claims for true.
type messages struct {
	in   io.Reader
	mem  memory.Allocator
	file bool // a footer follows the end
}

func (*messages) Retain()  {}
func (*messages) Release() {}

// Message is the next message; io.EOF after the mark of the end.
func (m *messages) Message() (_ *ipc.Message, err error) {
	defer recovered(&err)
	defer func() {
		if err == io.ErrUnexpectedEOF {
			err = errors.New("it ends in the middle, without the mark of the end: was it cut off?")
		}
	}()
	length, err := m.word()
	if err == nil && length == math.MaxUint32 { // streams since 2019 begin messages with it
		length, err = m.word()
	}
	switch {
	case err != nil:
		return nil, err
	case length == 0:
		return nil, m.end()
	case length > most:
		return nil, fmt.Errorf("it is damaged: metadata of %d bytes", length)
	}
	meta, err := m.bytes(int64(length))
	if err != nil {
		return nil, err
	}
	header := verify(meta.Bytes())
	body, err := m.bytes(header.GetInt64Slot(10, 0))
	if err != nil {
		return nil, err
	}
	return ipc.NewMessage(meta, body), nil
}

// end is io.EOF behind the mark of the end, where nothing follows but the footer of a file: its bytes, their number and
// the magic.
func (m *messages) end() error {
	rest, err := io.ReadAll(io.LimitReader(m.in, most))
	n := len(rest) - 10 // of the footer
	switch {
	case err != nil:
		return err
	case len(rest) == 0 && !m.file:
		return io.EOF
	case m.file && n >= 0 && string(rest[n+4:]) == fileMagic[:6] && binary.LittleEndian.Uint32(rest[n:]) == uint32(n):
		return io.EOF
	case m.file:
		return errors.New("the file does not end with a footer after its mark of the end: was it cut off, or put " +
			"together of several?")
	}
	return fmt.Errorf("%d bytes follow the mark of its end: give each stream a file of its own", len(rest))
}

func (m *messages) word() (uint32, error) {
	b, err := m.bytes(4)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b.Bytes()), nil
}

// bytes reads so many, of which memory is taken as they come.
func (m *messages) bytes(n int64) (*memory.Buffer, error) {
	if n < 0 || n > most {
		return nil, fmt.Errorf("it is damaged: a message of %d bytes", n)
	}
	var b bytes.Buffer
	if n <= 1<<20 {
		b.Grow(int(n))
	}
	if got, err := io.CopyN(&b, m.in, n); got < n {
		return nil, short(err)
	}
	return memory.NewBufferBytes(b.Bytes()), nil
}

// short is the error of fewer bytes than there should be.
func short(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// verify panics at lists of a message's metadata that are longer than the metadata, which the library would take
// memory for. The numbers are places in tables of Arrow's Message.fbs and Schema.fbs.
func verify(meta []byte) *flatbuffers.Table {
	left := len(meta) // tables, of which no more are visited, in a ring or not
	list := func(t *flatbuffers.Table, slot flatbuffers.VOffsetT, size int) (at flatbuffers.UOffsetT, n int) {
		o := flatbuffers.UOffsetT(t.Offset(slot))
		if o == 0 {
			return 0, 0
		}
		if n = t.VectorLen(o); n > len(meta)/size {
			panic(fmt.Sprintf("a list of %d in %d bytes", n, len(meta)))
		}
		return t.Vector(o), n
	}
	table := func(t *flatbuffers.Table, slot flatbuffers.VOffsetT) *flatbuffers.Table {
		if o := flatbuffers.UOffsetT(t.Offset(slot)); o != 0 {
			return &flatbuffers.Table{Bytes: meta, Pos: t.Indirect(t.Pos + o)}
		}
		return nil
	}
	var fields func(t *flatbuffers.Table, slot flatbuffers.VOffsetT, depth int)
	fields = func(t *flatbuffers.Table, slot flatbuffers.VOffsetT, depth int) {
		at, n := list(t, slot, 4)
		for i := range n {
			if left--; left < 0 || depth > 64 {
				panic("columns without end")
			}
			f := &flatbuffers.Table{Bytes: meta, Pos: t.Indirect(at + flatbuffers.UOffsetT(4*i))}
			fields(f, 14, depth+1)
			list(f, 16, 4)
			if kind := table(f, 10); kind != nil && f.GetByteSlot(8, 0) == 14 { // a union has numbers of types
				list(kind, 6, 4)
			}
		}
	}
	root := &flatbuffers.Table{Bytes: meta, Pos: flatbuffers.GetUOffsetT(meta)}
	list(root, 12, 4)
	header := table(root, 8)
	switch kind := root.GetByteSlot(6, 0); {
	case header == nil:
		panic("a message without a header")
	case ipc.MessageType(kind) == ipc.MessageSchema:
		fields(header, 6, 0)
		list(header, 8, 4)
		list(header, 10, 8)
	case ipc.MessageType(kind) == ipc.MessageDictionaryBatch:
		if header = table(header, 6); header == nil {
			panic("a dictionary without values")
		}
		fallthrough
	case ipc.MessageType(kind) == ipc.MessageRecordBatch:
		list(header, 6, 16)
		list(header, 8, 16)
		list(header, 12, 8)
	}
	return root
}

// arrowRows are the rows of a stream as text.
type arrowRows struct {
	batches *ipc.Reader
	batch   arrow.RecordBatch
	at      int
	text    []byte
	rest    []byte
}

func (a *arrowRows) Read(p []byte) (n int, err error) {
	defer recovered(&err)
	for len(a.rest) == 0 {
		if a.batch == nil || a.at == int(a.batch.NumRows()) {
			if !a.batches.Next() {
				if err := a.batches.Err(); err != nil {
					return 0, fmt.Errorf("Arrow stream: %w", err)
				}
				return 0, io.EOF
			}
			a.batch, a.at = a.batches.RecordBatch(), 0
			continue
		}
		a.text = a.text[:0]
		for range min(256, int(a.batch.NumRows())-a.at) {
			a.text = append(fields(append(a.text, '{'), a.batch.Schema().Fields(), a.batch.Columns(), a.at), '}', '\n')
			a.at++
		}
		a.rest = a.text
	}
	n = copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// fields appends those of a row as JSON.
func fields(to []byte, names []arrow.Field, columns []arrow.Array, i int) []byte {
	for j, c := range columns {
		if j > 0 {
			to = append(to, ',')
		}
		to = value(append(text(to, names[j].Name), ':'), c, i)
	}
	return to
}

// text appends a string as JSON.
func text(to []byte, s string) []byte {
	quoted, _ := jsontext.AppendQuote(to, s) // of text that is no UTF-8 the rest is there
	return quoted
}

// number appends a number as JSON: no value of NaN, and of ∞ what the reader of JSON refuses.
func number(to []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(to, "null"...)
	case math.IsInf(v, 0):
		return append(to, "1e999"...)
	}
	return strconv.AppendFloat(to, v, 'g', -1, 64)
}

// value appends value i of a column as JSON.
func value(to []byte, column arrow.Array, i int) []byte {
	if column.IsNull(i) {
		return append(to, "null"...)
	}
	switch c := column.(type) {
	case *array.Float64:
		return number(to, c.Value(i))
	case *array.Float32:
		return number(to, float64(c.Value(i)))
	case *array.Int64:
		return strconv.AppendInt(to, c.Value(i), 10)
	case *array.String:
		return text(to, c.Value(i))
	case *array.LargeString:
		return text(to, c.Value(i))
	case *array.Dictionary:
		return value(to, c.Dictionary(), c.GetValueIndex(i))
	case *array.Timestamp:
		return c.Value(i).ToTime(c.DataType().(*arrow.TimestampType).Unit).AppendFormat(append(to, '"'),
			time.RFC3339Nano+`"`)
	case *array.Decimal32, *array.Decimal64, *array.Decimal128, *array.Decimal256:
		return append(to, column.ValueStr(i)...)
	case *array.Struct:
		var inner []arrow.Array
		for j := range c.NumField() {
			inner = append(inner, c.Field(j))
		}
		return append(fields(append(to, '{'), c.DataType().(*arrow.StructType).Fields(), inner, i), '}')
	case *array.Map: // above lists, which it is one of
		from, until := c.ValueOffsets(i)
		to = append(to, '{')
		for j := from; j < until; j++ {
			if j > from {
				to = append(to, ',')
			}
			to = value(append(text(to, c.Keys().ValueStr(int(j))), ':'), c.Items(), int(j))
		}
		return append(to, '}')
	case array.ListLike:
		from, until := c.ValueOffsets(i)
		to = append(to, '[')
		for j := from; j < until; j++ {
			if j > from {
				to = append(to, ',')
			}
			to = value(to, c.ListValues(), int(j))
		}
		return append(to, ']')
	}
	if c, ok := column.(interface{ Value(int) []byte }); ok { // bytes, which are text, as in Parquet
		if b := c.Value(i); utf8.Valid(b) {
			return text(to, string(b))
		}
		panic("bytes that are no UTF-8, where a text or a number should be")
	}
	other, err := json.Marshal(column.GetOneForMarshal(i)) // other integers, booleans, dates
	if err != nil {
		panic(err)
	}
	return append(to, other...)
}
