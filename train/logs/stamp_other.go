//go:build !linux

package logs

import "os"

func stampOf(info os.FileInfo) stamp {
	return stamp{Size: info.Size(), Time: info.ModTime().UnixNano()}
}
