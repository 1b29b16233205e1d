package logs

import (
	"io"
	"os"
	"path/filepath"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// lease asks the system to have those wait who open a file to write to it, up to 45 seconds, and reports whether it does; nobody
// has it open then to write to it.
func lease(f *os.File) bool {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	return err == nil
}

// watch sees that somebody wants to write to a mapped file under a lease, which then becomes a copy: mapping and descriptor
// are exchanged, and who waits can write.
type watch struct {
	file        *os.File
	quit, ended chan struct{}
}

// begin begins to watch, until the function is called that it returns in place of unmap.
func (w *watch) begin(data []byte, unmap func() error) func() error {
	w.quit, w.ended = make(chan struct{}), make(chan struct{})
	go func() { // the function waits for it
		defer close(w.ended)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-w.quit:
				return
			case <-tick.C:
			}
			if have, err := unix.FcntlInt(w.file.Fd(), unix.F_GETLEASE, 0); err != nil || have != unix.F_RDLCK {
				w.copy(data)
				return
			}
		}
	}()
	return func() error {
		close(w.quit)
		<-w.ended
		return unmap()
	}
}

// copy takes the file's place by a copy. If there is no room for one, what is written is seen.
func (w *watch) copy(data []byte) {
	// Held until the end, and with it the lease.
	old, err := unix.FcntlInt(w.file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(old)
	defer unix.FcntlInt(uintptr(old), unix.F_SETLEASE, unix.F_UNLCK)
	own, err := temporary(filepath.Dir(w.file.Name()))
	if err != nil {
		return
	}
	defer own.Close()
	if _, err := io.Copy(own.File, io.NewSectionReader(w.file, 0, int64(len(data)))); err != nil {
		return
	}
	at := unsafe.Pointer(unsafe.SliceData(data))
	if _, err := unix.MmapPtr(int(own.Fd()), 0, at, uintptr(len(data)), unix.PROT_READ, unix.MAP_SHARED|unix.MAP_FIXED); err == nil {
		_ = unix.Dup3(int(own.Fd()), int(w.file.Fd()), unix.O_CLOEXEC)
	}
}
