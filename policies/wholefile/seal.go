package wholefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
)

// A sealed line is a JSON object on one line whose last member is the CRC-32C
// (Castagnoli) of the bytes before it, in 8 hexadecimal digits:
//
//	{…,"crc32c":"89abcdef"}
const sealName = `,"crc32c":"`

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Seal makes a sealed line of a JSON object with members, without a line end.
func Seal(object []byte) []byte {
	b := object[:len(object)-1]
	return appendSeal(b, b)
}

// appendSeal appends the seal of some bytes to b.
func appendSeal(b, of []byte) []byte {
	const digits = "0123456789abcdef"
	sum := crc32.Checksum(of, castagnoli)
	b = append(b, sealName...)
	for shift := 28; shift >= 0; shift -= 4 {
		b = append(b, digits[sum>>shift&15])
	}
	return append(b, `"}`...)
}

// Unseal checks a line, and returns it without its seal. It writes to line. A line that has no
// seal is returned as it is.
func Unseal(line []byte) (object []byte, sealed bool, err error) {
	at := len(line) - len(sealName) - 8 - len(`"}`)
	if at < 1 || !bytes.Equal(line[at:at+len(sealName)], []byte(sealName)) {
		return line, false, nil
	}
	var seal [32]byte
	if !bytes.Equal(line[at:], appendSeal(seal[:0], line[:at])) {
		return nil, true, errors.New("the line is damaged: it does not fit its checksum")
	}
	line[at] = '}'
	return line[:at+1], true, nil
}

// WriteSealed writes a value as a file of one sealed line, whole or not at all, and makes its folder if need be.
func WriteSealed(path string, v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o777)
	}
	if err == nil {
		err = WriteBytes(path, append(Seal(text), '\n'))
	}
	return err
}

// ReadSealed reads a file of WriteSealed, strictly: damage is an error, and so is a field that v has no place for.
func ReadSealed(path string, v any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	object, sealed, err := Unseal(bytes.TrimSpace(text))
	switch {
	case err != nil:
		return err
	case !sealed:
		return errors.New("it has no checksum")
	}
	d := json.NewDecoder(bytes.NewReader(object))
	d.DisallowUnknownFields()
	return d.Decode(v)
}
