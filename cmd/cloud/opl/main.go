// Opl is the command opl that reads logs from s3://, and of Arrow, and traces what it serves, as well.
package main

import (
	"context"
	"os"

	_ "gocloud.dev/blob/s3blob"

	"opl/cmd/cli"
	"opl/cmd/cloud"
	"opl/train/library"
)

func main() {
	lib := library.Standard()
	lib.Bucket, lib.Unpack = cloud.Open, cloud.Unpack
	around, flush := cloud.Tracing(context.Background())
	lib.Around = around
	status := cli.Run(lib, os.Args[1:], os.Stdout, os.Stderr)
	flush()
	os.Exit(status)
}
