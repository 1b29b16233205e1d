package logs

import (
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// dated are file systems whose inodes have the time of their last change, which nobody can set. Others, such as
// those of another machine or of a program, may have one that is made from the time of the content.
var dated = []int64{unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC,
	unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC, 0x2fc12fc1 /* ZFS */}

// stampOf is a file's stamp; info is that of path.
func stampOf(path string, info os.FileInfo) stamp {
	s := stamp{Size: info.Size(), Time: info.ModTime().UnixNano()}
	var of unix.Statfs_t
	if sys, ok := info.Sys().(*syscall.Stat_t); ok && unix.Statfs(path, &of) == nil && slices.Contains(dated,
		int64(of.Type)) {
		s.Changed, s.File = sys.Ctim.Nano(), sys.Ino
	}
	return s
}
