package report

import "flag"

// Update is the flag of the package's golden files.
var Update = flag.Bool("update", false, "write the golden files")
