package logs

import (
	"reflect"
	"slices"
	"testing"
)

// Each column that a builder fills is one of a cache's, or of the bad rows.
func TestSections_HaveAllColumns(t *testing.T) {
	b := builder{output: output{outcomes: []*outcome{{}}}}
	all := b.spills()
	var look func(name string, v reflect.Value)
	look = func(name string, v reflect.Value) {
		switch {
		case v.Type() == reflect.TypeFor[spill]():
			if s := (*spill)(v.Addr().UnsafePointer()); !slices.Contains(all, s) {
				t.Errorf("no section of%s", name)
			}
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				look(name+" "+v.Type().Field(i).Name, v.Field(i))
			}
		}
	}
	look("", reflect.ValueOf(&b.output).Elem())
}

// Each column that has an entry for each row has those of a subset's rows there, and is of another length an error.
func TestLog_SubsetHasEachColumn(t *testing.T) {
	whole := []string{"Actions", "Policies", "Propensities", "Outcomes", "Items", "Joint"} // not by row
	l := &Log{Actions: []string{"a", "b"}, Choices: &Choices{}, Lists: &Lists{}, Numbers: &Numbers{},
		Outcomes: []Outcome{{Column: "cost_x"}}}
	columns := func(l *Log) (all []reflect.Value) {
		for _, part := range []any{l, l.Choices, l.Lists, l.Numbers, &l.Outcomes[0]} {
			v := reflect.ValueOf(part).Elem()
			for i := range v.NumField() {
				f := v.Type().Field(i)
				if f.IsExported() && f.Type.Kind() == reflect.Slice && !slices.Contains(whole, f.Name) {
					all = append(all, v.Field(i))
				}
			}
		}
		return all
	}
	for _, c := range columns(l) {
		c.Set(reflect.MakeSlice(c.Type(), 5, 5))
	}
	for i, c := range columns(l.Subset([]int{4, 0, 0})) {
		if c.Len() != 3 {
			t.Errorf("column %d of type %v: %d entries", i, c.Type(), c.Len())
		}
	}
	l.Choices.Actions = []int32{0, 1, 0, 1, 0}
	for i, c := range columns(l) {
		c.Set(reflect.MakeSlice(c.Type(), 4, 4))
		if err := l.lengths(); err == nil {
			t.Errorf("column %d of type %v: no error of its length", i, c.Type())
		}
		c.Set(reflect.MakeSlice(c.Type(), 5, 5))
	}
}
