package logs

import (
	"os"
	"syscall"
)

func stampOf(info os.FileInfo) stamp {
	s := stamp{Size: info.Size(), Time: info.ModTime().UnixNano()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Changed, s.File = sys.Ctim.Nano(), sys.Ino
	}
	return s
}
