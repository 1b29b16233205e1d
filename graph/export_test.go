package graph

// Buffers counts the values that a program keeps in memory.
func (p *Program) Buffers() (n int) {
	count := func(data []bool) {
		for _, kept := range data {
			if kept {
				n++
			}
		}
	}
	switch m := p.machine.(type) {
	case *threaded[float64]:
		count(keeps(m.data))
	case *threaded[float32]:
		count(keeps(m.data))
	}
	return n
}

func keeps[T float](data [][]T) []bool {
	kept := make([]bool, len(data))
	for i, d := range data {
		kept[i] = d != nil
	}
	return kept
}
