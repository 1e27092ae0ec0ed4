//go:build !unix

package wire

import (
	"os"
	"time"
)

// try reads and writes a pipe without ever waiting. Pipes cannot do that here: newTry always
// reports false, and the callers do without.
type try struct {
	empty    func() (sent, wait bool)
	deadline time.Time
}

func newTry(*os.File) (*try, bool) { return nil, false }

func (*try) Read([]byte) (int, error)  { return 0, errWouldBlock }
func (*try) Write([]byte) (int, error) { return 0, errWouldBlock }
