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
	activation, dropout := features.ReLU, 0.0
	for _, a := range args {
		switch key, value, _ := strings.Cut(a, "="); {
		case a == features.ReLU || a == features.Tanh:
			activation = a
		case key == "dropout":
			var err error
			if dropout, err = strconv.ParseFloat(value, 64); err != nil || !(dropout >= 0 && dropout < 1) {
				return nil, fmt.Errorf("dropout %q: want a number in [0, 1)", value)
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
	return objectives.MLP(activation, dropout, widths...), nil
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
