package library

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"opl/objectives"
	"opl/policies/features"
)

// NoRepresentation is the name of the context itself.
const NoRepresentation = "none"

// Representation makes what a policy is linear in of a name with arguments, such as mlp=512;
// nil of none, and of nothing.
func (l Library) Representation(spec string) (objectives.Representation, error) {
	name, args, given := strings.Cut(strings.TrimSpace(spec), "=")
	if name == "" || name == NoRepresentation {
		if given {
			return nil, fmt.Errorf("representation %s takes no arguments", spec)
		}
		return nil, nil
	}
	names := []string{NoRepresentation}
	for _, r := range l.Representations {
		if names = append(names, r.Name); r.Name != name {
			continue
		}
		var list []string
		if given {
			list = strings.Split(args, ",")
		}
		made, err := r.Make(list)
		if err != nil {
			return nil, fmt.Errorf("representation %s: %w", spec, err)
		}
		return made, nil
	}
	return nil, Unknown("representation", name, names)
}

// mostUnits bounds the width of a layer.
const mostUnits = 1 << 16

// width reads a number of units.
func width(s string) (int, error) {
	m, err := strconv.Atoi(s)
	if err != nil || m < 1 || m > mostUnits {
		return 0, fmt.Errorf("%q: want a number of units from 1 to %d", s, mostUnits)
	}
	return m, nil
}

func mlp(args []string) (objectives.Representation, error) {
	var widths []int
	activation, rate := features.ReLU, 0.0
	for _, a := range args {
		switch key, value, _ := strings.Cut(a, "="); {
		case a == features.ReLU || a == features.Tanh:
			activation = a
		case key == "dropout":
			var err error
			if rate, err = dropout(value); err != nil {
				return nil, err
			}
		default:
			m, err := width(a)
			if err != nil {
				return nil, fmt.Errorf("%w, relu, tanh or dropout=0.5", err)
			}
			widths = append(widths, m)
		}
	}
	if len(widths) == 0 {
		widths = []int{512}
	}
	if len(widths) > 16 {
		return nil, errors.New("want at most 16 layers")
	}
	return objectives.MLP(activation, rate, widths...), nil
}

func conv(args []string) (objectives.Representation, error) {
	var c objectives.ConvNet
	for _, a := range args {
		key, value, _ := strings.Cut(a, "=")
		number, size, kernels := strings.Cut(a, "x")
		var err error
		switch {
		case a == "pad":
			c.Pad = true
		case key == "image":
			if c.Height, c.Width, c.Channels, err = image(value); err != nil {
				return nil, err
			}
		case key == "dropout":
			if c.Dropout, err = dropout(value); err != nil {
				return nil, err
			}
		case kernels && len(c.Widths) == 0:
			k := objectives.Kernels{}
			if k.Number, err = width(number); err == nil {
				k.Size, err = width(size)
			}
			if err != nil {
				return nil, fmt.Errorf("%q: want kernels such as 16x5, 16 of 5×5 pixels", a)
			}
			c.Kernels = append(c.Kernels, k)
		default:
			m, err := width(a)
			if err != nil {
				return nil, fmt.Errorf("%w, kernels such as 16x5 before them, pad, image=28x28 or dropout=0.5", err)
			}
			c.Widths = append(c.Widths, m)
		}
	}
	if c.Kernels == nil && c.Widths == nil {
		c.Kernels, c.Widths = []objectives.Kernels{{Number: 16, Size: 5}, {Number: 32, Size: 5}}, []int{128}
	}
	switch {
	case c.Kernels == nil:
		return nil, errors.New("want kernels such as 16x5 before layers")
	case len(c.Kernels)+len(c.Widths) > 16:
		return nil, errors.New("want at most 16 layers")
	}
	return objectives.Conv(c), nil
}

// image reads the sides of an image and its channels, 1 if they are not said.
func image(s string) (height, width, channels int, err error) {
	var n [3]int
	sides := strings.Split(s, "x")
	if len(sides) == 2 {
		sides = append(sides, "1")
	}
	if len(sides) != 3 {
		return 0, 0, 0, fmt.Errorf("image %q: want HEIGHTxWIDTH or HEIGHTxWIDTHxCHANNELS", s)
	}
	for i, side := range sides {
		if n[i], err = strconv.Atoi(side); err != nil || n[i] < 1 || n[i] > mostUnits {
			return 0, 0, 0, fmt.Errorf("image %q: want HEIGHTxWIDTH or HEIGHTxWIDTHxCHANNELS", s)
		}
	}
	return n[0], n[1], n[2], nil
}

// dropout reads a rate.
func dropout(s string) (float64, error) {
	rate, err := strconv.ParseFloat(s, 64)
	if err != nil || !(rate >= 0 && rate < 1) {
		return 0, fmt.Errorf("dropout %q: want a number in [0, 1)", s)
	}
	return rate, nil
}

func fourier(args []string) (objectives.Representation, error) {
	m, bandwidth := 512, 1.0
	for _, a := range args {
		var err error
		if value, ok := strings.CutPrefix(a, "bandwidth="); ok {
			if bandwidth, err = strconv.ParseFloat(value, 64); err != nil || !(bandwidth > 1e-6 && bandwidth < 1e6) {
				return nil, fmt.Errorf("bandwidth %q: want a number from 1e-6 to 1e6", value)
			}
			continue
		}
		if m, err = width(a); err != nil {
			return nil, fmt.Errorf("%w, or bandwidth=1", err)
		}
	}
	return objectives.Fourier(bandwidth, m), nil
}
