package doors

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// signPrefix is how the names of signs begin. The address follows, and then what makes the name unique: nobody can keep a daemon
// from hanging out its sign by taking the name.
const signPrefix = "patchbay-door/"

// Announce makes a listener known as a daemon's to every process that can connect to it, by an abstract Unix socket whose name
// has the address. /proc/net/unix lists those of the same network namespace, whoever's they are, and the kernel removes one with its process. Who
// connected before the sign was out may not have seen it, and is turned away.
func Announce(l *net.TCPListener) (*Door, error) {
	local, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return nil, fmt.Errorf("the listener's address is a %T", l.Addr())
	}
	sign, err := hang(signPrefix + clean(local.AddrPort()).String() + "/" + rand.Text())
	if err != nil {
		return nil, fmt.Errorf("plugins in sandboxes could not be kept away from %s: %w", local, err)
	}
	if err := turnAway(l); err != nil {
		return nil, errors.Join(err, sign.Close())
	}
	return &Door{TCPListener: l, sign: sign}, nil
}

// hang binds an abstract socket to which nobody can connect.
func hang(name string) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: "@" + name}); err != nil {
		return nil, errors.Join(os.NewSyscallError("bind", err), unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), "sign"), nil
}

// turnAway closes the connections that wait for being accepted.
func turnAway(l *net.TCPListener) error {
	raw, err := l.SyscallConn()
	if err != nil {
		return err
	}
	var acceptErr error
	err = raw.Control(func(fd uintptr) {
		for acceptErr == nil || errors.Is(acceptErr, syscall.EINTR) || errors.Is(acceptErr, syscall.ECONNABORTED) {
			var conn int
			if conn, _, acceptErr = unix.Accept4(int(fd), unix.SOCK_CLOEXEC); acceptErr == nil {
				_ = unix.Close(conn) // nothing was said on it
			}
		}
	})
	if err == nil && !errors.Is(acceptErr, syscall.EAGAIN) {
		err = os.NewSyscallError("accept", acceptErr)
	}
	return err
}

// At reports whether a daemon listens where a connection to this address ends: at the address itself, or at all addresses of this
// machine. To be asked after the connection was made: a daemon that began to listen before that has its sign out by then, or turns the
// connection away.
func At(addr netip.AddrPort) (bool, error) {
	here, err := isHere(addr)
	if err != nil || !here {
		return false, err
	}
	addr = clean(addr)
	found := false
	err = signs(func(door netip.AddrPort) {
		same := door.Addr() == addr.Addr() || door.Addr().IsUnspecified() || addr.Addr().IsUnspecified()
		found = found || same && door.Port() == addr.Port()
	})
	return found, err
}

// signs calls f for each sign that is out.
func signs(f func(netip.AddrPort)) error {
	file, err := os.Open("/proc/net/unix")
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		_, name, found := strings.Cut(lines.Text(), " @"+signPrefix)
		if !found {
			continue
		}
		text, _, _ := strings.Cut(name, "/")
		if door, err := netip.ParseAddrPort(text); err == nil { // else a stranger's, of a like name
			f(clean(door))
		}
	}
	return lines.Err()
}

// isHere reports whether an address is one of this machine's, by asking the kernel for the way there: one's own addresses
// are reached from themselves. Nothing is sent.
func isHere(addr netip.AddrPort) (bool, error) {
	if a := clean(addr).Addr(); a.IsLoopback() || a.IsUnspecified() {
		return true, nil
	}
	conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(addr))
	if errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EACCES) {
		return false, nil // no way, one that needs a zone and has none, or a broadcast address: one's own are not like that
	}
	if err != nil {
		return false, err
	}
	defer conn.Close()
	from, ok := conn.LocalAddr().(*net.UDPAddr)
	return ok && clean(from.AddrPort()).Addr() == clean(addr).Addr(), nil
}
