package logs

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// A column has all that was written to it, in memory as long as that is short, in a file otherwise, whatever the pieces were.
func TestSpill_HasAllThatWasWritten(t *testing.T) {
	for _, size := range []int{0, 1, spillBytes - 1, spillBytes, spillBytes + 1, 3 * spillBytes} {
		var s spill
		s.open(t.TempDir())
		r := rand.New(rand.NewPCG(uint64(size), 1))
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(r.Uint32())
		}
		for rest := want; len(rest) > 0; {
			n := min(len(rest), 1+r.IntN(1+r.IntN(2*spillBytes)))
			s.bytes(rest[:n])
			rest = rest[n:]
		}
		if err := s.flush(); err != nil {
			t.Fatal(err)
		}
		b, unmap, err := s.mapped()
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := s.copyTo(&out); err != nil || !bytes.Equal(b, want) || !bytes.Equal(out.Bytes(), want) || s.size != int64(len(want)) {
			t.Errorf("%d bytes: other bytes: %v", len(want), err)
		}
		if err := unmap(); err != nil {
			t.Error(err)
		}
		in := s.file.File != nil
		if in != (size >= spillBytes) {
			t.Errorf("%d bytes, in a file: %v", size, in)
		}
		if !in {
			continue
		}
		if err := s.file.Close(); err != nil {
			t.Error(err)
		}
	}
}
