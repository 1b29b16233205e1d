package logs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// standardInput is the path that stands for standard input.
const standardInput = "-"

// spool copies standard input to a temporary file, since a log is read more than once, and calls the file by the
// ending of its format, which its first bytes tell. Vowpal Wabbit's text must be named by preset or format.
func (f *file) spool(o *Options) (ending string, err error) {
	to, err := os.CreateTemp("", "opl-*.input")
	if err != nil {
		return "", err
	}
	f.name, f.local = "standard input", to.Name()
	n, err := io.Copy(to, cmp.Or[io.Reader](o.Input, os.Stdin))
	if err = errors.Join(err, to.Close()); err == nil && n == 0 {
		err = errors.New("it is empty")
	}
	if err == nil {
		f.info, err = os.Stat(f.local)
	}
	packed := ""
	first, err := f.firstBytes(packed, err)
	for by, mark := range map[string]string{"gz": "\x1f\x8b", "zst": "\x28\xb5\x2f\xfd"} {
		if packed == "" && bytes.HasPrefix(first, []byte(mark)) {
			packed, ending = by, "."+by
			first, err = f.firstBytes(packed, err)
		}
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", f.name, err)
	}
	for other, u := range o.Unpack {
		if slices.ContainsFunc(u.Magic, func(m string) bool { return bytes.HasPrefix(first, []byte(m)) }) {
			return "." + other, nil
		}
	}
	switch line, _, _ := bytes.Cut(bytes.TrimLeft(first, "\ufeff \t\r\n"), []byte("\n")); {
	case bytes.HasPrefix(first, []byte("PAR1")):
		return ".parquet" + ending, nil
	case bytes.HasPrefix(line, []byte("{")) && bytes.Contains(line, []byte(`"_label_cost"`)):
		return ".dsjson" + ending, nil
	case bytes.HasPrefix(line, []byte("{")):
		return ".jsonl" + ending, nil
	}
	return ".csv" + ending, nil
}

// firstBytes are those of the copy, unpacked, if nothing went wrong before.
func (f *file) firstBytes(packed string, wrong error) ([]byte, error) {
	if wrong != nil {
		return nil, wrong
	}
	r, end, err := stream(f.local, f.name, packed)
	if err != nil {
		return nil, err
	}
	first := make([]byte, 1<<16)
	n, err := fill(r, first)
	if err == errLonger {
		err = nil
	}
	return first[:n], errors.Join(err, end())
}
