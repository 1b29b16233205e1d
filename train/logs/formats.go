package logs

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// format is a kind of file that logs are in. To add one, write its reader in a file of its
// own, and a line in formats; TestFormats_GiveTheSameRows runs every line through the same
// rows.
type format struct {
	name    string
	endings []string // of names of files
	title   string   // of whose format it is
	whole   bool     // the reader opens the file by itself, and it is never packed
	row     string   // what errors call a row of named fields; "": the format has none

	read  func(l *lines, b *builder) (reader, error) // of a whole file l has only the path
	write func(w *Writer) encoder                    // nil: it is not written
}

var formats = []format{
	{name: "csv", endings: []string{"csv"}, row: "row", read: newCSV,
		write: func(w *Writer) encoder { return csvWriter{w} }},
	{name: "jsonl", endings: []string{"jsonl", "ndjson"}, row: "line", read: newJSONL,
		write: func(w *Writer) encoder { return jsonWriter{w} }},
	{name: "parquet", endings: []string{"parquet", "pq"}, row: "row", whole: true, read: newParquet,
		write: func(w *Writer) encoder { return &parquetWriter{Writer: w} }},
	{name: "vw", endings: []string{"vw"}, title: " (Vowpal Wabbit text)", read: newVW},
	{name: "dsjson", endings: []string{"dsjson"}, read: newDSJSON},
}

// Unpack reads files of a format that another module knows, as JSON Lines.
type Unpack struct {
	Magic []string                             // with one of which each begins: so standard input is known
	Open  func(r io.Reader) (io.Reader, error) // gives the file's rows as JSON Lines
}

// packings lists the endings of packed files, which follow that of the format.
var packings = []string{"gz", "zst"}

// Names returns the names of all formats and of all presets: layouts of named fields that are not those of the schema,
// and formats that have a layout of their own.
func Names() (all, presets []string) {
	presets = []string{"obd"}
	for _, f := range formats {
		if all = append(all, f.name); f.row == "" {
			presets = append(presets, f.name)
		}
	}
	return all, presets
}

// Formats returns the names of all formats, in a sentence.
func Formats() string {
	all, _ := Names()
	return either(all)
}

// Presets returns the names of all presets with what they are, in a sentence.
func Presets() string {
	text := "obd (Open Bandit Dataset)"
	for _, f := range formats {
		if f.row == "" {
			text += ", " + f.name + f.title
		}
	}
	return text
}

// Writable returns the endings of files that Create writes, in a sentence.
func Writable() string { return endingsOf(func(f *format) bool { return f.write != nil }) }

// endingsOf lists the first endings of some formats.
func endingsOf(has func(f *format) bool) string {
	var text, whole []string
	for i := range formats {
		switch f := &formats[i]; {
		case !has(f):
		case f.whole:
			whole = append(whole, "."+f.endings[0])
		default:
			text = append(text, "."+f.endings[0])
		}
	}
	return strings.Join(append([]string{either(text) + " (also with ." + strings.Join(packings, " or .") + ")"},
		whole...), " or ")
}

// either joins names by commas and "or".
func either(names []string) string {
	n := len(names)
	if n < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:n-1], ", ") + " or " + names[n-1]
}

// packing returns the name of a file without the ending of a packed one, and that.
func packing(path string) (name, packed string) {
	name = strings.ToLower(filepath.Base(path))
	for _, p := range packings {
		if s, ok := strings.CutSuffix(name, "."+p); ok {
			return s, p
		}
	}
	return name, ""
}

// formatOf returns the format of a file by its ending, nil if that is of none, and its
// packing.
func formatOf(path string) (f *format, packed string) {
	name, packed := packing(path)
	ending := strings.TrimPrefix(filepath.Ext(name), ".")
	return findFormat(func(f *format) bool { return slices.Contains(f.endings, ending) }), packed
}

// formatOf also knows the formats of other modules, which it takes as packed JSON Lines.
func (o *Options) formatOf(path string) (f *format, packed string) {
	ending := strings.TrimPrefix(strings.ToLower(filepath.Ext(path)), ".")
	if _, other := o.Unpack[ending]; !other {
		return formatOf(path)
	}
	return findFormat(func(f *format) bool { return f.name == "jsonl" }), ending
}

// findFormat returns the first format that is meant, nil if none is.
func findFormat(is func(f *format) bool) *format {
	for i := range formats {
		if is(&formats[i]) {
			return &formats[i]
		}
	}
	return nil
}

// formatFor returns the format and packing of a log as the options and its name say: a
// preset that is a format's own names it.
func formatFor(path string, o *Options) (f *format, packed string, err error) {
	f, packed = o.formatOf(path)
	own := findFormat(func(f *format) bool { return f.name == o.Preset && f.row == "" })
	switch {
	case o.Format != "" && o.Unpack[o.Format].Open != nil:
		f, packed = o.formatOf("." + o.Format)
	case o.Format != "":
		if f = findFormat(func(f *format) bool { return f.name == o.Format }); f == nil {
			return nil, "", fmt.Errorf("%s: no format %q: setting input-format is %s", path, o.Format, Formats())
		}
	case own != nil:
		f = own
	case f == nil:
		return nil, "", fmt.Errorf("%s: the name does not say what format it has: use setting input-format %s; unpack "+
			"archives, and save sheets of a workbook as CSV", path, Formats())
	}
	switch {
	case o.Preset == "" || own == f || o.Preset == "obd" && f.row != "":
		return f, packed, nil
	case own == nil && o.Preset != "obd":
		return nil, "", fmt.Errorf("%s: no preset %q: setting preset is %s", path, o.Preset, Presets())
	}
	return nil, "", fmt.Errorf("%s: setting preset %s is not for format %s", path, o.Preset, f.name)
}

// reader opens a file for reading from its beginning into the row of a builder.
func (f *format) reader(path, packed string, b *builder) (rd reader, err error) {
	l := &lines{path: path, local: cmp.Or(b.local, path), ends: b.ends}
	if !f.whole {
		var in io.Reader
		if in, l.end, err = stream(l.local, path, packed); err != nil {
			return nil, err
		}
		if other, is := b.o.Unpack[packed]; is {
			if in, err = other.Open(bufio.NewReaderSize(in, 1<<20)); err != nil {
				return nil, errors.Join(fmt.Errorf("%s: %w", path, err), l.end())
			}
		}
		l.r = bufio.NewReaderSize(in, 1<<20)
	} else if packed != "" {
		return nil, fmt.Errorf("%s: a file of format %s is read as it is: unpack it", path, f.name)
	}
	if rd, err = f.read(l, b); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return rd, nil
}
