package report

import (
	"testing"

	"opl/train/report/figure"
)

func TestInRows_ArrangesPanels(t *testing.T) {
	for n, want := range []struct{ rows, first int }{{0, 0}, {1, 1}, {1, 2}, {1, 3}, {2, 2}, {2, 3}, {2, 3}, {3, 3}} {
		rows := inRows(make([]*figure.Panel, n))
		if len(rows) != want.rows || n > 0 && len(rows[0]) != want.first {
			t.Errorf("%d panels: %d rows, want %d, the first of %d", n, len(rows), want.rows, want.first)
		}
	}
}
