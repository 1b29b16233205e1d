package train_test

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"opl/train"
)

// Every field of Settings is in the table, once, under a name of its own.
func TestSettings_AreEachInTheTableOnce(t *testing.T) {
	var s train.Settings
	at, names, columns := map[any]bool{}, map[string]bool{}, map[string]bool{}
	for _, e := range train.AllSettings() {
		if at[e.Field(&s)] || names[e.Name] || e.Column != "" && columns[e.Column] || e.Name == "" || e.Help == "" {
			t.Errorf("the entry %q is not new", e.Name)
		}
		at[e.Field(&s)], names[e.Name], columns[e.Column] = true, true, true
		switch e.Field(&s).(type) {
		case *int, *float64, *string, *bool, *[]float64:
		default:
			t.Errorf("%s is a %T, which neither flags nor grid files know", e.Name, e.Field(&s))
		}
	}
	v := reflect.ValueOf(&s).Elem()
	for i := range v.NumField() {
		if !at[v.Field(i).Addr().Interface()] {
			t.Errorf("%s is not in the table", v.Type().Field(i).Name)
		}
	}
}

func TestSettings_AreFilledWithDefaults(t *testing.T) {
	d := train.DefaultSettings()
	if err := d.Check(); err != nil {
		t.Error(err)
	}
	want := train.Settings{Delta: .05, Epochs: 20, LearningRate: .1, BatchSize: 128, Dtype: "float32", Samples: 32, Schedule: "constant", LayerRate: .002}
	if !reflect.DeepEqual(d, want) {
		t.Errorf("%+v, want %+v", d, want)
	}
	s := train.Settings{Epochs: 3, Noise: "iid", PriorScales: []float64{.5}, Certify: true}.Filled()
	if s.Epochs != 3 || s.Noise != "iid" || len(s.PriorScales) != 1 || !s.Certify || s.BatchSize != 128 {
		t.Errorf("%+v", s)
	}
}

func TestSettings_RefuseValuesOutsideTheirDomain(t *testing.T) {
	for want, change := range map[string]func(*train.Settings){
		"delta 1: want a number in (0, 1)":      func(s *train.Settings) { s.Delta = 1 },
		"delta NaN: want":                       func(s *train.Settings) { s.Delta = math.NaN() },
		"epochs -1: want 0 or more":             func(s *train.Settings) { s.Epochs = -1 },
		"limit 19: use at least 20":             func(s *train.Settings) { s.Limit = 19 },
		"limit -1: use at least 20":             func(s *train.Settings) { s.Limit = -1 },
		"lr +Inf: want a positive":              func(s *train.Settings) { s.LearningRate = math.Inf(1) },
		"batch-size 0: want at least 1":         func(s *train.Settings) { s.BatchSize = 0 },
		`dtype "int": want float32 or float64`:  func(s *train.Settings) { s.Dtype = "int" },
		"samples 0: want at least 1":            func(s *train.Settings) { s.Samples = 0 },
		`schedule "x": want constant or linear`: func(s *train.Settings) { s.Schedule = "x" },
		"prior-split 1: want a share":           func(s *train.Settings) { s.PriorSplit = 1 },
		"prior-scale [1 0]: want positive":      func(s *train.Settings) { s.PriorScales = []float64{1, 0} },
	} {
		t.Run(want, func(t *testing.T) {
			s := train.DefaultSettings()
			change(&s)
			var bad *train.SettingError
			if err := s.Check(); !errors.As(err, &bad) || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		})
	}
}

func TestSettings_LeaveCellsOfUnsetValuesEmpty(t *testing.T) {
	cells := func(s train.Settings) (text string) {
		for _, e := range train.AllSettings() {
			if cell := e.Cell(s); e.Column != "" && cell != "" {
				text += e.Column + "=" + cell + " "
			}
		}
		return text
	}
	if got, want := cells(train.Settings{}), "epochs=0 lr=0 "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := cells(train.Settings{LearningRate: 1e-5, Delta: .05, Noise: "iid"}.Filled()),
		"epochs=20 lr=1e-05 batch_size=128 delta=0.05 dtype=float32 noise=iid samples=32 schedule=constant "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
