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
	for err == nil {
		var first []byte
		if first, err = f.firstBytes(packed); err != nil {
			break
		}
		for other, u := range o.Unpack {
			if slices.ContainsFunc(u.Magic, func(m string) bool { return bytes.HasPrefix(first, []byte(m)) }) {
				return "." + other, nil
			}
		}
		switch line, _, _ := bytes.Cut(bytes.TrimLeft(first, "\ufeff \t\r\n"), []byte("\n")); {
		case packed == "" && bytes.HasPrefix(first, []byte("\x1f\x8b")):
			packed = "gz"
			continue
		case packed == "" && bytes.HasPrefix(first, []byte("\x28\xb5\x2f\xfd")):
			packed = "zst"
			continue
		case bytes.HasPrefix(first, []byte("PAR1")):
			ending = ".parquet"
		case bytes.HasPrefix(line, []byte("{")) && bytes.Contains(line, []byte(`"_label_cost"`)):
			ending = ".dsjson"
		case bytes.HasPrefix(line, []byte("{")):
			ending = ".jsonl"
		default:
			ending = ".csv"
		}
		if packed != "" {
			ending += "." + packed
		}
		return ending, nil
	}
	return "", fmt.Errorf("%s: %w", f.name, err)
}

// firstBytes are those of the copy, unpacked.
func (f *file) firstBytes(packed string) ([]byte, error) {
	r, end, err := stream(f.local, f.name, packed)
	if err != nil {
		return nil, err
	}
	first := make([]byte, 1<<16)
	n, err := io.ReadFull(r, first)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return first[:n], errors.Join(err, end())
}
