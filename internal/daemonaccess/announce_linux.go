package daemonaccess

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

// namePrefix begins the name of an announcement. The address follows, and then a random part.
// Without that, another program could take the name first and keep the daemon from announcing
// itself.
const namePrefix = "patchbay-daemon/"

// Announce marks a listener as a daemon's, for every process that can connect to it. For that it
// binds an abstract Unix socket whose name contains the address. /proc/net/unix lists all such
// names in the network namespace, of all users, and the kernel removes a name with its process.
// Announce closes connections that were made before the announcement: if a broker made such a
// connection, it could not know that the listener is a daemon's.
func Announce(l *net.TCPListener) (*Listener, error) {
	local, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return nil, fmt.Errorf("the listener's address is a %T", l.Addr())
	}
	name, err := bindName(namePrefix + clean(local.AddrPort()).String() + "/" + rand.Text())
	if err != nil {
		return nil, fmt.Errorf("plugins in sandboxes could not be kept away from %s: %w", local, err)
	}
	if err := closeWaiting(l); err != nil {
		return nil, errors.Join(err, name.Close())
	}
	return &Listener{TCPListener: l, name: name}, nil
}

// bindName binds an abstract socket. It does not listen, so no process can connect to it.
func bindName(name string) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: "@" + name}); err != nil {
		return nil, errors.Join(os.NewSyscallError("bind", err), unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), "announcement"), nil
}

// closeWaiting closes the connections that have not been accepted yet.
func closeWaiting(l *net.TCPListener) error {
	raw, err := l.SyscallConn()
	if err != nil {
		return err
	}
	var acceptErr error
	err = raw.Control(func(fd uintptr) {
		for acceptErr == nil || errors.Is(acceptErr, syscall.EINTR) || errors.Is(acceptErr, syscall.ECONNABORTED) {
			var conn int
			if conn, _, acceptErr = unix.Accept4(int(fd), unix.SOCK_CLOEXEC); acceptErr == nil {
				_ = unix.Close(conn) // nothing was written to it, so an error loses nothing
			}
		}
	})
	if err == nil && !errors.Is(acceptErr, syscall.EAGAIN) {
		err = os.NewSyscallError("accept", acceptErr)
	}
	return err
}

// At reports whether a connection to this address ends at a daemon: one that listens at the
// address, or at all addresses of this machine. Call it after the connection was made. A daemon
// that listened by then has announced itself, or will close the connection.
func At(addr netip.AddrPort) (bool, error) {
	here, err := isHere(addr)
	if err != nil || !here {
		return false, err
	}
	addr = clean(addr)
	found := false
	err = announced(func(daemon netip.AddrPort) {
		same := daemon.Addr() == addr.Addr() || daemon.Addr().IsUnspecified() || addr.Addr().IsUnspecified()
		found = found || same && daemon.Port() == addr.Port()
	})
	return found, err
}

// announced calls f with the address of each daemon.
func announced(f func(netip.AddrPort)) error {
	file, err := os.Open("/proc/net/unix")
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		_, name, found := strings.Cut(lines.Text(), " @"+namePrefix)
		if !found {
			continue
		}
		text, _, _ := strings.Cut(name, "/")
		if daemon, err := netip.ParseAddrPort(text); err == nil { // otherwise another program chose a similar name
			f(clean(daemon))
		}
	}
	return lines.Err()
}

// Here reports whether an address is one of this machine's. It also returns true if that cannot be
// determined.
func Here(addr netip.Addr) bool {
	here, err := isHere(netip.AddrPortFrom(addr, anyPort))
	return here || err != nil
}

// anyPort is used if the port does not matter.
const anyPort = 9

// isHere reports whether an address is one of this machine's. It asks the kernel which source
// address it would use to send there. For an address of this machine, that is the address itself.
// Nothing is sent.
func isHere(addr netip.AddrPort) (bool, error) {
	if a := clean(addr).Addr(); a.IsLoopback() || a.IsUnspecified() {
		return true, nil
	}
	conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(addr))
	if errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EACCES) {
		return false, nil // no route, a missing zone, or a broadcast address: none of these is this machine's own
	}
	if err != nil {
		return false, err
	}
	defer conn.Close()
	from, ok := conn.LocalAddr().(*net.UDPAddr)
	return ok && clean(from.AddrPort()).Addr() == clean(addr).Addr(), nil
}
