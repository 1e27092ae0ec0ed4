//go:build !unix

package main

import "os"

// pollable returns stdin as it is: this system has no such mode.
func pollable(stdin *os.File) *os.File { return stdin }
