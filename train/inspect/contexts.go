package inspect

import (
	"opl/train/logs"
)

// contextsFit reports that every row has a context, if any has.
func (l *log) contextsFit() bool {
	if l.Rows != nil && len(l.Rows) != l.n {
		return false
	}
	if l.X == nil {
		return true
	}
	if m, ok := l.X.(logs.Rows64); ok && m.Width < 1 {
		return false
	}
	for _, r := range l.Rows {
		if r < 0 || r >= l.X.Len() {
			return false
		}
	}
	return l.Rows != nil || l.X.Len() == l.n
}

// mix spreads a hash over its bits (the finalizer of SplitMix64).
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
