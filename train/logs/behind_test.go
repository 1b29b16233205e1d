package logs

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// limited is a disk that is full after some bytes.
type limited struct {
	bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, errors.New("no space left")
	}
	return l.Buffer.Write(p)
}

// What is written behind is all there in its order, or an error in the end.
func TestBehind(t *testing.T) {
	for _, room := range []int{1 << 20, 50} {
		to := &limited{left: room}
		b, want := newBehind(to), ""
		var text []byte
		for i := range 100 {
			text = append(text, byte('a'+i%26), byte(i))
			want += string(text)
			if text = b.hand(text); len(text) != 0 {
				t.Fatal(text)
			}
		}
		for range 2 {
			if err := b.end(); (err != nil) != (room == 50) || err != nil && !strings.Contains(err.Error(), "no space") {
				t.Fatalf("room for %d: %v", room, err)
			}
		}
		if room > 50 && to.String() != want || room == 50 && to.String() != want[:50] {
			t.Fatalf("room for %d: %q", room, to.String())
		}
	}
}
