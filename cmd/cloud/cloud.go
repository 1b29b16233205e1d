// Package cloud has logs and the folders of runs in object storage, by gocloud.dev/blob. It is a module of
// its own, so that who reads local files needs none of what it needs. A main of a few lines reads from one
// more kind of store by one import:
//
//	import (
//		"opl/cmd/cli"
//		"opl/cmd/cloud"
//		"opl/train/library"
//
//		_ "gocloud.dev/blob/gcsblob" // gs://
//	)
//
//	func main() {
//		lib := library.Standard()
//		lib.Bucket = cloud.Open
//		os.Exit(cli.Run(lib, os.Args[1:], os.Stdout, os.Stderr))
//	}
package cloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"opl/train/logs"
)

// Open opens the bucket of a URL as gocloud.dev has it, such as s3://name?region=eu-north-1, of the kinds that the
// program imports, or the tables of a namespace of an Iceberg catalogue, iceberg://. Credentials are found as the
// store's own programs find them.
func Open(ctx context.Context, url string) (logs.Bucket, error) {
	if strings.HasPrefix(url, "iceberg://") {
		return openTables(ctx, url)
	}
	b, err := blob.OpenBucket(ctx, url)
	if err != nil {
		return nil, err
	}
	return Bucket(b), nil
}

// Bucket adapts a bucket of gocloud.dev. Closing it closes that bucket.
func Bucket(b *blob.Bucket) logs.WritableBucket { return bucket{b} }

type bucket struct{ *blob.Bucket }

func (b bucket) List(ctx context.Context, prefix string, each func(logs.Object) error) error {
	for it := b.Bucket.List(&blob.ListOptions{Prefix: prefix}); ; {
		o, err := it.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return found(err)
		}
		if err := each(logs.Object{Key: o.Key, Size: o.Size, Time: o.ModTime, Tag: fmt.Sprintf("%x",
			o.MD5)}); err != nil {
			return err
		}
	}
}

func (b bucket) Read(ctx context.Context, key string) (io.ReadCloser, error) {
	r, err := b.NewReader(ctx, key, nil)
	if err != nil {
		return nil, found(err)
	}
	return r, nil
}

func (b bucket) Write(ctx context.Context, key string, text []byte) error {
	return b.WriteAll(ctx, key, text, nil)
}

// found says of an error that there is no such object, if that is what it says.
func found(err error) error {
	if gcerrors.Code(err) == gcerrors.NotFound {
		return errors.Join(err, fs.ErrNotExist)
	}
	return err
}
