package logs

import (
	"fmt"
	"slices"

	"github.com/parquet-go/parquet-go"

	"opl/policies/features"
)

// parquetWriter writes Parquet.
type parquetWriter struct {
	*Writer
	to    *parquet.GenericWriter[any]
	place map[string]int // of leaves
	cells parquet.Row
}

// begin makes the schema, that of the first row.
func (w *parquetWriter) begin(d *Decision) {
	g := parquet.Group{}
	w.columns(d, func(name, _ string) {
		g[name] = parquet.String()
		if name == "timestamp" {
			g[name] = parquet.Timestamp(parquet.Nanosecond)
		}
	}, func(name string, _ float64) { g[name] = parquet.Leaf(parquet.DoubleType) })
	if d.Offered != nil {
		g["offered"] = parquet.List(parquet.String())
		if d.Propensities != nil {
			g["propensities"] = parquet.List(parquet.Leaf(parquet.DoubleType))
		}
	}
	if w.described {
		delete(g, "offered")
		action := parquet.Group{"features": parquet.Map(parquet.String(), parquet.Leaf(parquet.DoubleType))}
		if d.Offered[0].Action != "" {
			action["id"] = parquet.String()
		}
		g["actions"] = parquet.List(action)
	}
	switch w.layout {
	case asList:
		g["context"] = parquet.List(parquet.Leaf(parquet.DoubleType))
	case asObject:
		g["context"] = parquet.Map(parquet.String(), parquet.Leaf(parquet.DoubleType))
	}
	schema := parquet.NewSchema("log", g)
	w.place = map[string]int{}
	for i, path := range schema.Columns() {
		name := path[0]
		if end := path[len(path)-1]; end == "value" && len(path) > 1 || name == "actions" {
			name += "." + end
		}
		w.place[name] = i
	}
	values := 1 + len(d.Context) + len(d.Propensities)
	for _, o := range d.Offered {
		values += 1 + len(o.Features)
	}
	w.to = parquet.NewGenericWriter[any](w.out, schema, parquet.Compression(&parquet.Snappy),
		parquet.MaxRowsPerRowGroup(int64(max(256, min(1<<16, groupValues/values)))))
}

// groupValues is how many values a row group has, about: so many take 300 MiB to read, of heldPages at most.
const groupValues = 1 << 23

func (w *parquetWriter) end() error { return w.to.Close() }

func (w *parquetWriter) row(d *Decision) error {
	if w.to == nil {
		w.begin(d)
	}
	row := w.cells[:0]
	put := func(name string, v parquet.Value, repetition, definition int) {
		row = append(row, v.Level(repetition, definition, w.place[name]))
	}
	w.columns(d, func(name, s string) {
		if name != "timestamp" {
			put(name, parquet.ByteArrayValue([]byte(s)), 0, 0)
			return
		}
		at, ok := unixNano(d.Time)
		if !ok {
			w.err = fmt.Errorf("%s: row %d: %s is outside 1678 to 2261", w.path, w.n, d.Time)
		}
		put(name, parquet.Int64Value(at), 0, 0)
	}, func(name string, v float64) { put(name, parquet.DoubleValue(v), 0, 0) })
	list := func(name string, values []float64) {
		for i, v := range values {
			put(name, parquet.DoubleValue(v), min(i, 1), 1)
		}
	}
	members := func(key, value string, values []features.Value, first, depth int) {
		for i, v := range values {
			level := first
			if i > 0 {
				level = depth
			}
			put(key, parquet.ByteArrayValue([]byte(v.Name)), level, depth)
			put(value, parquet.DoubleValue(v.Number), level, depth)
		}
		if len(values) == 0 {
			put(key, parquet.NullValue(), first, depth-1)
			put(value, parquet.NullValue(), first, depth-1)
		}
	}
	switch w.layout {
	case asList:
		list("context", w.values)
	case asObject:
		members("context", "context.value", d.Context, 0, 1)
	}
	for j, o := range d.Offered {
		if !w.described {
			put("offered", parquet.ByteArrayValue([]byte(o.Action)), min(j, 1), 1)
			continue
		}
		if o.Action != "" {
			put("actions.id", parquet.ByteArrayValue([]byte(o.Action)), min(j, 1), 1)
		}
		members("actions.key", "actions.value", o.Features, min(j, 1), 2)
	}
	if d.Offered != nil {
		list("propensities", d.Propensities)
	}
	slices.SortStableFunc(row, func(a, b parquet.Value) int { return a.Column() - b.Column() })
	w.cells = row
	_, err := w.to.WriteRows([]parquet.Row{row})
	return err
}
