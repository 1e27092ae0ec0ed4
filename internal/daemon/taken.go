package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/internal/daemonaccess"
)

// A TakenError says which process uses the address or the socket that a daemon wants.
type TakenError struct {
	what string
	fix  string
	err  error
}

func (e *TakenError) Error() string { return e.what + "; " + e.fix }
func (e *TakenError) Unwrap() error { return e.err }

// Fix tells what to do about it.
func (e *TakenError) Fix() string { return e.fix }

const (
	stopFix   = "`patchbay serve status` shows it, `patchbay serve stop` ends it"
	listenFix = "end that program, or choose another address with --listen HOST:PORT"
)

// explainTaken adds to err the process that uses the address or the socket. It returns other errors
// unchanged.
func (c *Core) explainTaken(ctx context.Context, err error, address, socket string) error {
	switch {
	case errors.Is(err, ErrRunning):
		if s, statusErr := statusOn(ctx, socket); statusErr == nil {
			err = fmt.Errorf("%w: it answers on %s (%s)", ErrRunning, socket, describeDaemon(s))
		}
		return &TakenError{what: err.Error(), fix: stopFix, err: err}
	case errors.Is(err, syscall.EADDRINUSE):
		if s, statusErr := statusOn(ctx, socket); statusErr == nil && strings.TrimPrefix(s.HTTP, "http://") == address {
			return &TakenError{what: fmt.Sprintf("%s is in use by your own daemon (%s)", address, describeDaemon(s)), fix: stopFix, err: err}
		}
		return &TakenError{what: fmt.Sprintf("%s is in use by %s", address, holderOf(address)), fix: listenFix, err: err}
	}
	return err
}

// describeDaemon names a daemon by its process and start time.
func describeDaemon(s httpapi.DaemonStatus) string {
	return fmt.Sprintf("process %d, since %s", s.PID, s.Began.Local().Format(time.DateTime))
}

// holderOf names the process that listens at an address, if it can be found.
func holderOf(address string) string {
	name := "another program"
	if _, port, err := net.SplitHostPort(address); err == nil {
		if known := listenerOn(port); known != "" {
			name = known
		}
	}
	if isPatchbay(address) {
		name += ", which is the patchbay daemon of another home or user"
	}
	return name
}

// isPatchbay reports whether a Patchbay daemon listens at an address.
func isPatchbay(address string) bool {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return false
	}
	known, err := daemonaccess.At(at)
	return err == nil && known
}
