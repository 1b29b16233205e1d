// Opl is the command opl that reads logs from s3://, and of Arrow, as well.
package main

import (
	"os"

	_ "gocloud.dev/blob/s3blob"

	"opl/cmd/cli"
	"opl/cmd/cloud"
	"opl/train/library"
)

func main() {
	lib := library.Standard()
	lib.Bucket, lib.Unpack = cloud.Open, cloud.Unpack
	os.Exit(cli.Run(lib, os.Args[1:], os.Stdout, os.Stderr))
}
