package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"opl/train/library"
)

// pty is a terminal of some columns, and what reads it.
func pty(t *testing.T, columns uint16) (slave, master *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	control := func(f *os.File, request uintptr, at unsafe.Pointer) {
		if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(at)); e != 0 {
			t.Fatal(e)
		}
	}
	var unlock, number int32
	control(master, syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	control(master, syscall.TIOCGPTN, unsafe.Pointer(&number))
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	control(slave, syscall.TIOCSWINSZ, unsafe.Pointer(&[4]uint16{24, columns}))
	return slave, master
}

// What is said of stages is for terminals, as wide as they are, and has no control characters for those who want none.
func TestStages_WriteToTerminalsAlone(t *testing.T) {
	defer func(d time.Duration) { patience = d }(patience)
	patience = 0
	say := func(out io.Writer) {
		s := newStages(out, "reading a.csv")
		s.read(1234)
		time.Sleep(500 * time.Millisecond)
		s.next("inspecting")
		time.Sleep(500 * time.Millisecond)
		s.stop()
		s.stop()
	}
	for _, c := range []struct {
		name, variable string
		columns        uint16
		want, not      []string
	}{
		{"wide", "", 80, []string{"\r\x1b[Kreading a.csv: 1234 rows, 0 s", "\r\x1b[Kinspecting: 0 s", "\r\x1b[K"},
			[]string{"\n", "\x1b[3"}},
		{"narrow", "", 12, []string{"\r\x1b[Kreading a.c\r", "\r\x1b[Kinspecting:\r"}, []string{"reading a.cs"}},
		{"NO_COLOR", "NO_COLOR=1", 80, []string{"opl: reading a.csv\r\nopl: inspecting\r\n"}, []string{"\x1b"}},
		{"dumb", "TERM=dumb", 80, []string{"opl: reading a.csv\r\nopl: inspecting\r\n"}, []string{"\x1b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("TERM", "xterm")
			t.Setenv("NO_COLOR", "")
			if name, value, ok := strings.Cut(c.variable, "="); ok {
				t.Setenv(name, value)
			}
			slave, master := pty(t, c.columns)
			defer master.Close()
			say(flagWriter(slave, nil))
			slave.Close()
			b := make([]byte, 4096)
			n, _ := master.Read(b)
			for _, want := range c.want {
				if !strings.Contains(string(b[:n]), want) {
					t.Errorf("%q lacks %q", b[:n], want)
				}
			}
			for _, not := range c.not {
				if strings.Contains(string(b[:n]), not) {
					t.Errorf("%q has %q", b[:n], not)
				}
			}
		})
	}
	var file bytes.Buffer
	if say(&file); file.Len() > 0 {
		t.Errorf("what is no terminal gets %q", file.String())
	}
}

// Names in files, and those of files, are in errors: a terminal obeys none of them.
func TestRun_ShowsErrorsOnATerminalWithoutControlCharacters(t *testing.T) {
	log := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(log, []byte("action,reward,propensity,x_\x1b[41m\u202e\na,1,.5,1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"inspect", "no\x1b[31m.csv"}, {"inspect", log, "--columns", "x_a=none"}} {
		slave, master := pty(t, 80)
		if status := Run(library.Standard(), args, io.Discard, slave); status != 1 {
			t.Errorf("%q: status %d", args, status)
		}
		slave.Close()
		b := make([]byte, 4096)
		n, _ := master.Read(b)
		master.Close()
		if said := string(b[:n]); !strings.Contains(said, `\x1b[`) || strings.ContainsAny(said, "\x1b\u202e") {
			t.Errorf("%q: %q", args, said)
		}
	}
}
