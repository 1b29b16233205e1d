package server

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

// pipe is a connection of the server and the client's end.
func pipe(t *testing.T) (*counted, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c, err := (&limited{Listener: l, most: 1, each: 1}).Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); c.Close() })
	return c.(*counted), client
}

// A deadline ends what waits, whether it was set before or while it does, within an eighth more than its time;
// one that is later, or none, lets it go on.
func TestDeadlines(t *testing.T) {
	c, client := pipe(t)
	read := func(want error) time.Duration {
		t.Helper()
		begin := time.Now()
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		return time.Since(begin)
	}
	const d = 80 * time.Millisecond
	for range 2 {
		c.SetReadDeadline(time.Now().Add(d))
		if took := read(os.ErrDeadlineExceeded); took < d-time.Millisecond || took > 10*d {
			t.Errorf("a read of %v ended after %v", d, took)
		}
	}
	for _, end := range []time.Time{time.Unix(1, 0), time.Now()} { // as net/http does; past by then
		c.SetReadDeadline(time.Time{})
		done := make(chan time.Duration)
		go func() { done <- read(os.ErrDeadlineExceeded) }()
		time.Sleep(20 * time.Millisecond)
		c.SetReadDeadline(end)
		<-done
		c.SetReadDeadline(end)
		read(os.ErrDeadlineExceeded)
	}
	c.SetReadDeadline(time.Now().Add(d))
	go func() {
		time.Sleep(d / 4)
		c.SetReadDeadline(time.Now().Add(time.Hour))
		time.Sleep(2 * d)
		client.Write([]byte("a"))
	}()
	if took := read(nil); took < 2*d {
		t.Errorf("a byte was there after %v", took)
	}
	c.SetWriteDeadline(time.Now().Add(d))
	var err error
	for err == nil {
		_, err = c.Write(make([]byte, 1<<20)) // nobody reads it
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
}

// Deadlines a little later than the one before are not set.
func TestDeadlineIsSetSeldom(t *testing.T) {
	var d deadline
	var have time.Time
	times := 0
	set := func(t time.Time) error {
		have = t
		times++
		return nil
	}
	now := time.Now().Add(10 * time.Second)
	for i := range 10_000 { // of 10 s, a millisecond apart
		want := now.Add(time.Duration(i) * time.Millisecond)
		if err := errors.Join(d.is(time.Time{}, set), d.is(want, set), d.begin(set)); err != nil {
			t.Fatal(err)
		}
		d.end()
		if late := have.Sub(want); late < 0 || late > 2500*time.Millisecond {
			t.Fatalf("%v late", late)
		}
	}
	if times > 10 {
		t.Errorf("set %d times", times)
	}
}

// What was written last is there, in order, and little more.
func TestRecent(t *testing.T) {
	var r recent
	var all []byte
	line := make([]byte, 300<<10)
	for i := range 200 {
		line[0] = byte(i)
		r.add(line)
		if i%7 == 0 {
			r.takeBack(len(line))
			continue
		}
		all = append(all, byte(i))
	}
	var got []byte
	bytes := 0
	for _, parts := range [][][]byte{r.before, r.now} {
		for _, part := range parts {
			bytes += len(part)
			for ; len(part) > 0; part = part[len(line):] {
				got = append(got, part[0])
			}
		}
	}
	if want := all[len(all)-len(got):]; string(got) != string(want) || bytes < recentBytes || bytes > 3*recentBytes {
		t.Errorf("%d bytes, lines %v, want %v", bytes, got, want)
	}
	if n := len(r.now) + len(r.before) + len(r.spare); n > 3*recentBytes/stretch {
		t.Errorf("%d parts", n)
	}
	r.add(make([]byte, 2*stretch))
	if r.forget(); len(r.now)+len(r.before)+r.bytes != 0 {
		t.Error("not forgotten")
	}
}
