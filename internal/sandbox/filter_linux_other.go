//go:build !amd64 && !arm64

package sandbox

import "golang.org/x/sys/unix"

// filterHere tells that no filter has been written for this kind of machine.
const filterHere = false

func (d *draft) filter(int) []unix.SockFilter { return nil }

func bytesOf([]unix.SockFilter) []byte { return nil }
