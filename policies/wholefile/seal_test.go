package wholefile

import (
	"strings"
	"testing"
)

// The value is that of CRC-32C of the check string "123456789" in RFC 3720, e3069283.
func TestSeal_IsCRC32C(t *testing.T) {
	if got := string(appendSeal(nil, []byte("123456789"))); got != `,"crc32c":"e3069283"}` {
		t.Error(got)
	}
	const object = `{"a":1,"b":"c"}`
	line := string(Seal([]byte(object)))
	if got, sealed, err := Unseal([]byte(line)); string(got) != object || !sealed || err != nil {
		t.Errorf("%s of %s, %t, %v", got, line, sealed, err)
	}
	for _, plain := range []string{"", "{}", object, `{"crc32c":"00000000"}`, `,"crc32c":"00000000"}`, line + " "} {
		if got, sealed, err := Unseal([]byte(plain)); string(got) != plain || sealed || err != nil {
			t.Errorf("%s: %s, %t, %v", plain, got, sealed, err)
		}
	}
	for _, damaged := range []string{strings.Replace(line, "1", "2", 1), line[:len(line)-3] + `g"}`, strings.ToUpper(line[len(line)-10:])} {
		if _, sealed, err := Unseal([]byte(damaged)); sealed && err == nil {
			t.Errorf("%s is taken", damaged)
		}
	}
}
