package logs

import (
	"bufio"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// format is a kind of file that logs are in. To add one, write its reader in a file of its
// own, and a line in formats; TestFormats runs every line through the same rows.
type format struct {
	name    string
	endings []string // of names of files
	presets []preset // layouts that it can have
	whole   bool     // the reader opens the file by itself, and it is never packed

	read  func(l *lines, o *Options) (reader, error) // of a whole file l has only the path
	rows  func(l *lines) (Rows, error)               // named fields for OpenRows; nil: none
	write func(w *Writer) encoder                    // nil: it is not written
}

// preset is a layout that is not that of the schema.
type preset struct{ name, title string }

var obd = preset{"obd", "Open Bandit Dataset"}

var formats = []format{
	{name: "csv", endings: []string{"csv"}, presets: []preset{obd}, read: newCSV, rows: newCSVRows, write: newCSVWriter},
	{name: "jsonl", endings: []string{"jsonl", "ndjson"}, presets: []preset{obd}, read: newJSONL, rows: newJSONRows, write: newJSONWriter},
	{name: "parquet", endings: []string{"parquet", "pq"}, presets: []preset{obd}, whole: true, read: newParquet, rows: newParquetRows, write: newParquetWriter},
	{name: "vw", endings: []string{"vw"}, presets: []preset{{"vw", "Vowpal Wabbit text"}}, read: newVW},
	{name: "dsjson", endings: []string{"dsjson"}, presets: []preset{{"dsjson", ""}}, read: newDSJSON},
}

// packings are the endings of packed files, after that of the format.
var packings = []string{"gz", "zst"}

// Formats are the names of all formats, in a sentence.
func Formats() string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return either(names)
}

// Presets are the names of all presets with what they are, in a sentence.
func Presets() string {
	var names []string
	for _, f := range formats {
		for _, p := range f.presets {
			if p.title != "" {
				p.name += " (" + p.title + ")"
			}
			if !slices.Contains(names, p.name) {
				names = append(names, p.name)
			}
		}
	}
	return strings.Join(names, ", ")
}

// Writable are the endings of files that Create writes, in a sentence.
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
	return strings.Join(append([]string{either(text) + " (also with ." + strings.Join(packings, " or .") + ")"}, whole...), " or ")
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

// findFormat returns the first format that is meant, nil if none is.
func findFormat(is func(f *format) bool) *format {
	for i := range formats {
		if is(&formats[i]) {
			return &formats[i]
		}
	}
	return nil
}

// has reports whether the format has a preset.
func (f *format) has(name string) bool {
	return slices.ContainsFunc(f.presets, func(p preset) bool { return p.name == name })
}

// formatFor returns the format and packing of a log as the options and its name say: a
// preset that one format alone has names it.
func formatFor(path string, o *Options) (f *format, packed string, err error) {
	f, packed = formatOf(path)
	of := func(name string) (n int) {
		for i := range formats {
			if formats[i].has(name) {
				n++
			}
		}
		return n
	}
	switch {
	case o.Format != "":
		if f = findFormat(func(f *format) bool { return f.name == o.Format }); f == nil {
			return nil, "", fmt.Errorf("%s: no format %q: setting input-format is %s", path, o.Format, Formats())
		}
	case of(o.Preset) == 1:
		f = findFormat(func(f *format) bool { return f.has(o.Preset) })
	case f == nil:
		return nil, "", fmt.Errorf("%s: the name does not say what format it has: use setting input-format %s", path, Formats())
	}
	switch {
	case o.Preset == "" || f.has(o.Preset):
		return f, packed, nil
	case of(o.Preset) == 0:
		return nil, "", fmt.Errorf("%s: no preset %q: setting preset is %s", path, o.Preset, Presets())
	}
	return nil, "", fmt.Errorf("%s: setting preset %s is not for format %s", path, o.Preset, f.name)
}

// open opens a file for reading lines from its beginning; of a format that is whole it
// gives the path alone.
func (f *format) open(path, packed string) (*lines, error) {
	if f.whole {
		if packed != "" {
			return nil, fmt.Errorf("%s: a file of format %s is read as it is: unpack it", path, f.name)
		}
		return &lines{path: path}, nil
	}
	in, err := stream(path, packed)
	if err != nil {
		return nil, err
	}
	return &lines{path: path, in: in, r: bufio.NewReaderSize(in, 1<<20)}, nil
}

// reader opens a log for reading from its beginning.
func (f *format) reader(path, packed string, o *Options) (reader, error) {
	l, err := f.open(path, packed)
	if err != nil {
		return nil, err
	}
	rd, err := f.read(l, o)
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	return rd, nil
}
