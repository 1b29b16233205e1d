// Package python holds the file by which Python reads policy files and asks the server. Use it to
// write that file beside a policy, as opl python does.
package python

import _ "embed"

// Source is opl_policy.py, to be copied beside the program that imports it.
//
//go:embed opl_policy.py
var Source string
