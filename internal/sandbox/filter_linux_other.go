//go:build !amd64 && !arm64

package sandbox

import "golang.org/x/sys/unix"

// filterHere says that there is no filter for this kind of machine.
const filterHere = false

func (d *draft) filter(int) []unix.SockFilter { return nil }

func bytesOf([]unix.SockFilter) []byte { return nil }
