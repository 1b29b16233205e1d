package cloud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	_ "github.com/apache/iceberg-go/catalog/hadoop" // type=hadoop, a folder
	_ "github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"

	"opl/train/logs"
)

// tables are those of a namespace of a catalogue, as a bucket that has one object, TABLE/SNAPSHOT.arrow, for each
// snapshot that is asked for. Of TABLE alone that is the current one. So a log, its cache and what is learned from it
// name the snapshot, and a table that changes meanwhile is read as it was.
type tables struct {
	of        catalog.Catalog
	namespace []string
}

// openTables opens iceberg://NAMESPACE?type=rest&uri=…, where the query has the catalogue's properties, as iceberg-go
// calls them: type=hadoop&warehouse=FOLDER needs no server. The namespace a.b is b within a.
func openTables(ctx context.Context, at string) (logs.Bucket, error) {
	u, err := url.Parse(at)
	if err != nil {
		return nil, err
	}
	properties := iceberg.Properties{}
	for name, values := range u.Query() {
		properties[name] = values[0]
	}
	of, err := catalog.Load(ctx, "", properties)
	if err != nil {
		return nil, fmt.Errorf("Iceberg catalogue: %w", err)
	}
	return &tables{of, strings.Split(u.Host, ".")}, nil
}

// scan is the snapshot of a key, TABLE or TABLE/SNAPSHOT.arrow, with all rows that it has, and the key that names it.
// TABLE has the columns of the table's schema, and TABLE/SNAPSHOT.arrow those with which it was written; where these
// differ TABLE is TABLE/SNAPSHOT-SCHEMA.arrow, which can be read until the table changes.
func (t *tables) scan(ctx context.Context, key string) (found string, of *table.Snapshot, rows *table.Scan, err error) {
	name, pin, pinned := strings.Cut(strings.TrimSuffix(key, "/"), "/")
	if name == "" || strings.ContainsAny(key, "*?[") {
		return "", nil, nil, errors.New("want one table, iceberg://NAMESPACE/TABLE, or its TABLE/SNAPSHOT.arrow")
	}
	in, err := t.of.LoadTable(ctx, append(t.namespace[:len(t.namespace):len(t.namespace)], name))
	if err != nil {
		return "", nil, nil, fmt.Errorf("Iceberg table %s: %w", name, err)
	}
	of = in.CurrentSnapshot()
	if of == nil {
		return "", nil, nil, fmt.Errorf("Iceberg table %s has no snapshot: nothing was written to it", name)
	}
	current := strconv.FormatInt(of.SnapshotID, 10)
	if schema := in.Schema().ID; of.SchemaID != nil && *of.SchemaID != schema {
		current += fmt.Sprintf("-%d", schema)
	}
	if pin = strings.TrimSuffix(pin, ".arrow"); !pinned || pin == current {
		return path.Join(name, current+".arrow"), of, in.Scan(), nil
	}
	n, err := strconv.ParseInt(pin, 10, 64)
	if of = in.SnapshotByID(n); err != nil || of == nil {
		return "", nil, nil, fmt.Errorf("Iceberg table %s has no snapshot %s any more: %w", name, pin, fs.ErrNotExist)
	}
	return path.Join(name, pin+".arrow"), of, in.Scan(table.WithSnapshotID(n)), nil
}

func (t *tables) List(ctx context.Context, key string, each func(logs.Object) error) error {
	name, of, _, err := t.scan(ctx, key)
	if err != nil {
		return err
	}
	tag := strings.TrimSuffix(path.Base(name), ".arrow")
	return each(logs.Object{Key: name, Size: -1, Time: time.UnixMilli(of.TimestampMs), Tag: tag})
}

// Read is the snapshot as a stream of Arrow, without rows that were deleted, the oldest file first: a scan has the
// newest first, and a log's order is that of time.
func (t *tables) Read(ctx context.Context, key string) (io.ReadCloser, error) {
	_, _, rows, err := t.scan(ctx, key)
	if err != nil {
		return nil, err
	}
	files, err := rows.PlanFiles(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(files, func(a, b table.FileScanTask) int {
		return cmp.Compare(written(a), written(b))
	})
	schema, batches, err := rows.ReadTasks(ctx, files)
	if err != nil {
		return nil, err
	}
	r, w := io.Pipe()
	go func() {
		to := ipc.NewWriter(w, ipc.WithSchema(schema))
		for batch, err := range batches {
			if err == nil {
				err = to.Write(batch)
				batch.Release()
			}
			if err != nil {
				w.CloseWithError(err)
				return
			}
		}
		w.CloseWithError(to.Close())
	}()
	return r, nil
}

// written is the place of a file among what was written to its table.
func written(of table.FileScanTask) int64 {
	if of.DataSequenceNumber == nil {
		return 0
	}
	return *of.DataSequenceNumber
}

func (t *tables) Close() error { return nil }
