//go:build !unix

package wire

import (
	"os"
	"time"
)

// A try reads and writes a pipe without waiting. Pipes cannot do that on this system: newTry always
// returns false, and its callers do without.
type try struct{ deadline time.Time }

type atOnce try

func newTry(*os.File) (*try, bool) { return nil, false }

func (*try) Read([]byte) (int, error)    { return 0, errWouldBlock }
func (*atOnce) Read([]byte) (int, error) { return 0, errWouldBlock }
func (*try) Write([]byte) (int, error)   { return 0, errWouldBlock }
