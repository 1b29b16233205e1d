package graph

// Buffers counts the buffers that a program holds, in use or free.
func (p *Program) Buffers() (n int) {
	pools := map[*pool]bool{}
	for node := range p.used {
		if o, ok := node.Op().(*op); ok {
			pools[o.pool] = true
			if o.buffer != nil {
				n++
			}
		}
	}
	for q := range pools {
		n += len(*q)
	}
	return n
}
