package ope

import (
	"fmt"

	"opl/policies/features"
	"opl/train/logs"
)

const (
	mostProducts = 400 // numbers that a model of the reward of actions with features reads
	ownRows      = 20  // times that an action without features was logged, for a 1 of its own
)

// crossed is f(x, a) of a log with choices.
type crossed struct {
	log      *logs.Log
	z        logs.Contexts
	d, p     int
	products bool
	phi, zed []float64 // buffers for φ(x) and z(a)
}

func cross(log *logs.Log) (*crossed, error) {
	z, err := vectors(log, true)
	if err != nil {
		return nil, err
	}
	c := &crossed{log: log, z: z, d: log.X.Dim(), p: z.Dim()}
	c.products = c.d*c.p <= mostProducts
	c.phi, c.zed = make([]float64, c.d), make([]float64, c.p)
	if c.width() > largest {
		return nil, fmt.Errorf("ope: %d features of contexts and %d of actions: too many for the reward model, "+
			"which reads at most %d", c.d, c.p, largest)
	}
	return c, nil
}

// vectors are what the actions of a log are described by.
func vectors(log *logs.Log, intercept bool) (logs.Contexts, error) {
	if log.Choices.Z != nil {
		return log.Choices.Z, nil
	}
	own := 0
	if log.ItemNames() == nil && intercept {
		own = ownRows
	}
	it, err := log.FitItems(nil, logs.Scaling{Kind: "standard", Intercept: intercept || log.ItemNames() == nil},
		own)
	if err == nil {
		log, err = log.EncodeItems(it)
	}
	if err != nil {
		return nil, err
	}
	return log.Choices.Z, nil
}

func (c *crossed) width() int {
	if c.products {
		return c.d * c.p
	}
	return c.d + c.p
}

// read writes f(x, a) of a row and its action to dst, from φ(x) and z(a).
func (c *crossed) read(i int, dst []float64) {
	_, item := c.log.Option(i, c.log.Chosen(i))
	phi, z := c.phi, c.zed
	c.log.X.Row64(c.log.Context(i), phi)
	c.z.Row64(item, z)
	if !c.products {
		copy(dst, phi)
		copy(dst[c.d:], z)
		return
	}
	for j, v := range z {
		for i, u := range phi {
			dst[j*c.d+i] = u * v
		}
	}
}

// model predicts by θ of each fold.
func (c *crossed) model(theta []float64, fold []uint8, mean []float64, link func(mean, score float64) float64) Model {
	w, phi, z := c.width(), c.phi, c.zed
	of := make([]float64, c.p) // what the row's scores take of z(a)
	return func(dst []float64, i int) {
		c.log.X.Row64(c.log.Context(i), phi)
		f, base := int(fold[i]), 0.
		own := theta[f*w : (f+1)*w]
		if c.products {
			for j := range of {
				of[j] = features.Dot(phi, own[j*c.d:(j+1)*c.d])
			}
		} else {
			base = features.Dot(phi, own[:c.d])
			copy(of, own[c.d:])
		}
		for j := range dst[:c.log.Options(i)] {
			_, item := c.log.Option(i, j)
			c.z.Row64(item, z)
			dst[j] = link(mean[f], base+features.Dot(of, z))
		}
	}
}
