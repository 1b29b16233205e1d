package graph

import "opl/graph/kernel"

// ConvImages is the derivative of x.Conv(w, c) in x, for that in the result, g.
func ConvImages(g, w Expr, c kernel.Convolution) Expr { return newConvolution(c, g, w).images(g, w) }

// ConvKernels is the derivative of x.Conv(w, c) in w.
func ConvKernels(x, g Expr, c kernel.Convolution) Expr {
	n := newConvolution(c, x, g)
	n.m = g.n.Shape()[1] / n.sites
	return n.kernels(x, g)
}

// Unpool and Pick are the derivatives of MaxPool and of Unpool.
func Unpool(x, g Expr, p kernel.Pooling) Expr { return x.unpool(g, p) }
func Pick(x, v Expr, p kernel.Pooling) Expr   { return x.pick(v, p) }

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

// PooledKernels is the derivative of x.Conv(w, c).MaxPool(p) in w where both are one operation.
func PooledKernels(x, w, g Expr, c kernel.Convolution, p kernel.Pooling) Expr {
	return newConvolution(c, x, w).pooledKernels(x, w, g, p)
}

// Operation is the name of what made x.
func (x Expr) Operation() string { return x.n.Op().(*op).name }
