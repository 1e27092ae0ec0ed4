//go:build !linux

package proc

import "os"

func pipeToChild() (child, host *os.File, err error) { return os.Pipe() }

func pipeFromChild() (host, child *os.File, err error) { return os.Pipe() }
