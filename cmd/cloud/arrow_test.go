package cloud_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"opl/cmd/cli"
	"opl/cmd/cloud"
	"opl/train/library"
)

// arrowLog writes a log in batches, as a stream or as a file, and returns the same rows as JSON Lines.
func arrowLog(t *testing.T, file bool) (arrows []byte, lines string) {
	t.Helper()
	names := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "decision_id", Type: arrow.BinaryTypes.String},
		{Name: "action", Type: names},
		{Name: "reward", Type: arrow.PrimitiveTypes.Float64},
		{Name: "propensity", Type: arrow.PrimitiveTypes.Float32},
		{Name: "context", Type: arrow.StructOf(arrow.Field{Name: "deep", Type: arrow.PrimitiveTypes.Float64},
			arrow.Field{Name: "few", Type: arrow.PrimitiveTypes.Int32, Nullable: true})},
	}, nil)
	var out bytes.Buffer
	var w interface {
		Write(arrow.RecordBatch) error
		Close() error
	} = ipc.NewWriter(&out, ipc.WithSchema(schema), ipc.WithLZ4())
	if file {
		f, err := ipc.NewFileWriter(&out, ipc.WithSchema(schema), ipc.WithZstd())
		if err != nil {
			t.Fatal(err)
		}
		w = f
	}
	r := rand.New(rand.NewPCG(1, 2))
	for batch := range 3 {
		b := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
		for i := range 100 {
			id, action, reward, n, deep := fmt.Sprint(batch*100+i), "ab"[i*7/3%2:][:1], r.IntN(2), r.IntN(9), r.NormFloat64()
			b.Field(0).(*array.StringBuilder).Append(id)
			if err := b.Field(1).(*array.BinaryDictionaryBuilder).AppendString(action); err != nil {
				t.Fatal(err)
			}
			b.Field(2).(*array.Float64Builder).Append(float64(reward))
			b.Field(3).(*array.Float32Builder).Append(0.5)
			s, number := b.Field(4).(*array.StructBuilder), fmt.Sprint(n)
			s.Append(true)
			s.FieldBuilder(0).(*array.Float64Builder).Append(deep)
			if n == 0 {
				s.FieldBuilder(1).AppendNull()
				number = "null"
			} else {
				s.FieldBuilder(1).(*array.Int32Builder).Append(int32(n))
			}
			lines += fmt.Sprintf(`{"decision_id":"%s","action":"%s","reward":%d,"propensity":0.5,"context":{"deep":%v,"few":%s}}`+"\n",
				id, action, reward, deep, number)
		}
		if err := w.Write(b.NewRecordBatch()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), lines
}

// A log in Arrow's batches is the log of its rows: as a file, as a stream, on standard input.
func TestArrow_IsALogLikeAnyOther(t *testing.T) {
	dir := t.TempDir()
	inspect := func(name string, content []byte, in io.Reader) string {
		lib := library.Standard()
		lib.Unpack = cloud.Unpack
		path := name
		if in == nil {
			path = filepath.Join(dir, name)
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
		} else {
			was := os.Stdin
			f, err := os.Open(filepath.Join(dir, "log.arrow"))
			if err != nil {
				t.Fatal(err)
			}
			os.Stdin = f
			defer func() { os.Stdin = was; f.Close() }()
		}
		var out, errs bytes.Buffer
		cli.Run(lib, []string{"inspect", path, "--no-cache", "--verbose", "--format", "json"}, &out, &errs)
		_, counted, _ := strings.Cut(out.String(), `"rows": 300`)
		if counted == "" {
			t.Fatalf("%s: %s%s", name, out.String(), errs.String())
		}
		if in != nil {
			return counted
		}
		return strings.ReplaceAll(counted, path, "")
	}
	stream, lines := arrowLog(t, false)
	file, _ := arrowLog(t, true)
	want := inspect("log.jsonl", []byte(lines), nil)
	for name, got := range map[string]string{"stream": inspect("log.arrow", stream, nil), "file": inspect("file.arrow", file, nil),
		"standard input": inspect("-", nil, os.Stdin)} {
		if got != want {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
	}
}

// A stream that is cut anywhere is an error that says so, at the end of a batch, too; damage is an error, never a
// panic, and costs no memory that the bytes do not have.
func TestArrow_RefusesWhatIsCutOrDamaged(t *testing.T) {
	read := func(b []byte) (n int64, err error) {
		r, err := cloud.Arrow(bytes.NewReader(b))
		if err != nil {
			return 0, err
		}
		return io.Copy(io.Discard, r)
	}
	for _, file := range []bool{false, true} {
		whole, lines := arrowLog(t, file)
		all, err := read(whole)
		if err != nil || all < int64(len(lines))/2 {
			t.Fatal(all, err)
		}
		end := len(whole)
		if file { // the footer says nothing that the stream does not
			end = bytes.LastIndex(whole[:len(whole)-100], []byte("\xff\xff\xff\xff\x00\x00\x00\x00")) + 8
		}
		for at := 0; at < end; at += 7 {
			if n, err := read(whole[:at]); err == nil || n > 0 && !strings.Contains(err.Error(), "it ends in the middle") {
				t.Fatalf("file %v, cut at %d of %d: %d bytes, %v", file, at, end, n, err)
			}
		}
		for name, more := range map[string][]byte{"a stream": whole, "an end": make([]byte, 8), "a line": []byte("a,1,0.5\n")} {
			if _, err := read(slices.Concat(whole, more)); err == nil {
				t.Errorf("file %v, and behind it %s: no error", file, name)
			}
		}
		if _, err := read(whole[:len(whole)-1]); err == nil {
			t.Errorf("file %v without its last byte: no error", file)
		}
		path := filepath.Join(t.TempDir(), "cut.arrow")
		if err := os.WriteFile(path, whole[:end/2], 0o600); err != nil {
			t.Fatal(err)
		}
		lib := library.Standard()
		lib.Unpack = cloud.Unpack
		var out, errs bytes.Buffer
		if status := cli.Run(lib, []string{"inspect", path}, &out, &errs); status != 1 || !strings.Contains(errs.String(), path) ||
			!strings.Contains(errs.String(), "it ends in the middle") {
			t.Errorf("%d: %s", status, errs.String())
		}
		r := rand.New(rand.NewPCG(3, 4))
		for range 500 {
			b := bytes.Clone(whole)
			for range 1 + r.IntN(4) {
				b[r.IntN(len(b))] ^= 1 << r.IntN(8)
			}
			_, _ = read(b)
		}
	}
}
