//go:build !unix

package main

import "os"

// pollable does nothing: there is no such mode here.
func pollable(stdin *os.File) *os.File { return stdin }
