package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/train"
	"opl/train/dataset"
	"opl/train/experiment"
	"opl/train/logs"
)

// Export writes the log of a labelled data set turned into a bandit's, its rows in the
// order of memory: x_0, x_1, … are the pixels from 0 to 255, of which memory has
// φ(x) = x/‖x‖₂, the actions are named by the classes, and the decision id is the place
// of the image among those for training. The path's ending is the format, see
// [logs.Create]. Lists are an error.
func Export(path string, t *experiment.Task) error {
	l := t.Log
	if l.Lists != nil {
		return errors.New("lists of labels are compared alone, and not written: take the data set without its slots")
	}
	return writeImages(path, t, func(w *imageWriter) error {
		for i := range l.Len() {
			at := l.Context(i)
			d := logs.Decision{ID: fmt.Sprint("train-", at), Action: int(l.Action[i]), Cost: l.Cost[i],
				Propensity: l.Propensity[i], Propensities: l.Propensities[i*l.K() : (i+1)*l.K()]}
			if err := w.write(t.Data.Train, at, &d); err != nil {
				return err
			}
		}
		return nil
	})
}

// ExportTest writes the test set as a log of the uniform policy that took every action
// once for every image, which is a group: the mean of π(a|x)/π₀(a)·r over its rows, the
// estimate IPS, is the reward of π on the test set, exactly.
func ExportTest(path string, t *experiment.Task) error {
	test, k := t.Data.Test, t.Data.Classes
	pi := slices.Repeat([]float64{1 / float64(k)}, k)
	return writeImages(path, t, func(w *imageWriter) error {
		for i := range test.Len() {
			for a := range k {
				d := logs.Decision{ID: fmt.Sprintf("test-%d-%d", i, a), Group: fmt.Sprint("test-", i), Action: a,
					Propensity: pi[a], Propensities: pi}
				if a == int(test.Labels[i]) {
					d.Cost = -1
				}
				if err := w.write(test, i, &d); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// ExportLogging returns the logging policy of such a log, for which it was learned
// from images that the log does not have.
func ExportLogging(t *experiment.Task) (*policyfile.File, error) {
	names := pixelNames(t)
	ones := slices.Repeat([]float64{1}, len(names))
	encoder, err := features.New(features.Encoder{Names: names, Scale: ones, Unit: true})
	if err != nil {
		return nil, err
	}
	return &policyfile.File{Actions: logs.Numbered(t.Data.Classes), RewardMax: 1, Created: train.ThisVersion(),
		History: policyfile.History{Known: true, DataHash: t.Data.Hash},
		Components: []policyfile.Component{{Weight: 1, Kind: policyfile.Softmax, Encoder: encoder,
			Weights: matrix(t.Prior.Mean, t.Data.Classes)}}}, nil
}

func pixelNames(t *experiment.Task) (names []string) {
	for i := range t.Data.Train.Dim() {
		names = append(names, "x_"+strconv.Itoa(i))
	}
	return names
}

// imageWriter writes decisions about images.
type imageWriter struct {
	*logs.Writer
	pixels []float64
	x      []features.Value
}

func writeImages(path string, t *experiment.Task, write func(*imageWriter) error) error {
	names := pixelNames(t)
	out, err := logs.Create(path, logs.WriterOptions{Actions: logs.Numbered(t.Data.Classes), Names: names})
	if err != nil {
		return err
	}
	w := &imageWriter{out, make([]float64, len(names)), make([]features.Value, len(names))}
	for j, name := range names {
		w.x[j].Name = name
	}
	if err := write(w); err != nil {
		return errors.Join(err, out.Abort())
	}
	return out.Close()
}

// write writes a decision about image i.
func (w *imageWriter) write(images *dataset.Set, i int, d *logs.Decision) error {
	images.Pixels(i, w.pixels)
	for j, v := range w.pixels {
		w.x[j].Number = v
	}
	d.Context, d.Weight = w.x, 1
	return w.Write(d)
}
