package daemonaccess

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/patchbay-dev/patchbay/internal/plugtest/machine"
	"github.com/patchbay-dev/patchbay/internal/sandbox/jail"
)

// A kind says how a caller is started.
type kind string

const (
	plain   kind = "a plain process"
	foreign kind = "in another sandbox"
	inside  kind = "in one of ours"
)

// start runs a fake until it ends or the test does.
func start(t *testing.T, k kind, args ...string) *caller {
	t.Helper()
	c := &caller{Cmd: exec.Command("/proc/self/exe", append([]string{"-fake"}, args...)...)}
	c.Stdout, c.Stderr = &c.out, &c.out
	if k != plain {
		c.Args = append([]string{"bwrap", "-fake", "jail"}, args...)
		c.SysProcAttr = namespaces()
	}
	if k == inside {
		c.Args[0] = jail.Inner
	}
	in, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if errors.Is(err, syscall.EPERM) && k != plain && !machine.CI() {
		t.Skip("no namespaces: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := c.Wait(); err != nil {
			t.Errorf("%s, %v: %v: %s", k, args, err, c.out.String())
		}
	})
	return c
}

type caller struct {
	*exec.Cmd
	out bytes.Buffer
}

// namespaces returns attributes for a process in a user and a process namespace, as package jail
// makes them. If the host is root, the kernel sees processes inside as nobody.
func namespaces() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
	uid, gid := os.Geteuid(), os.Getegid()
	if uid == 0 {
		uid, gid = nobody, nobody
		attr.GidMappingsEnableSetgroups = true
		attr.Credential = &syscall.Credential{}
	}
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: uid, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: gid, Size: 1}}
	return attr
}

// A server checks the caller of each connection.
type server struct {
	t        *testing.T
	addr     string
	bytes    atomic.Int32 // how many bytes are read before the check; callers send one
	verdicts chan error
}

func serve(t *testing.T, address string) *server {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT) {
		t.Skip("no such address here: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, addr: l.Addr().String(), verdicts: make(chan error, 10)}
	s.bytes.Store(1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.ReadAtLeast(conn, make([]byte, 2), int(s.bytes.Load())) // ends early if the caller closes its end
			s.verdicts <- checkRepeatedly(conn)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return s
}

// checkRepeatedly checks the caller. If the caller is in a sandbox, it is checked again and again
// for 50 ms, and checkRepeatedly returns the last result. In this time the caller may close its
// connection or end; it must not be admitted then.
func checkRepeatedly(conn net.Conn) error {
	err := Caller(addrOf(conn.LocalAddr()), addrOf(conn.RemoteAddr()))
	for end := time.Now().Add(50 * time.Millisecond); isInside(err) && time.Now().Before(end); {
		err = Caller(addrOf(conn.LocalAddr()), addrOf(conn.RemoteAddr()))
	}
	return err
}

func addrOf(a net.Addr) netip.AddrPort { return a.(*net.TCPAddr).AddrPort() }

// verdict waits for the result of a call.
func (s *server) verdict() error {
	s.t.Helper()
	select {
	case err := <-s.verdicts:
		return err
	case <-time.After(patience):
		s.t.Fatal("there was no call")
		return nil
	}
}

// isInside and isUnknown distinguish the two refusals.
func isInside(err error) bool {
	var r *Refusal
	return errors.As(err, &r) && r.Inside
}

func isUnknown(err error) bool {
	var r *Refusal
	return errors.As(err, &r) && !r.Inside
}

func TestCaller(t *testing.T) {
	admitted := func(err error) bool { return err == nil }
	refused := func(err error) bool { return isInside(err) || isUnknown(err) }
	for _, c := range []struct {
		rule    string
		kind    kind
		fake    string
		address string
		want    func(error) bool
	}{
		{"a plain process is served", plain, "call", "127.0.0.1:0", admitted},
		{"a plain process is served over IPv6", plain, "call", "[::1]:0", admitted},
		{"a plain process is served over IPv4 within IPv6", plain, "mapped", "127.0.0.1:0", admitted},
		{"a process that cannot be inspected is served while no sandbox could have the connection", plain, "hidden", "127.0.0.1:0", admitted},
		{"a process in another sandbox is served", foreign, "call", "127.0.0.1:0", admitted},
		{"an orphan in another sandbox is served", foreign, "orphan", "127.0.0.1:0", admitted},
		{"a process in our sandbox is refused", inside, "call", "127.0.0.1:0", isInside},
		{"a process in our sandbox is refused over IPv6", inside, "call", "[::1]:0", isInside},
		{"a process in our sandbox is refused over IPv4 within IPv6", inside, "mapped", "127.0.0.1:0", isInside},
		{"a process in our sandbox is refused at a server for IPv4 and IPv6", inside, "mapped", "[::]:0", isInside},
		{"a process in our sandbox is refused over multipath TCP", inside, "paths", "127.0.0.1:0", refused},
		{"a process in our sandbox is refused from another loopback address", inside, "bound", "127.0.0.1:0", isInside},
		{"an orphan in our sandbox is refused", inside, "orphan", "127.0.0.1:0", isInside},
		{"a process in our sandbox that hides its descriptors is refused", inside, "hidden", "127.0.0.1:0", refused},
		{"a process in our sandbox that keeps its connection in a message is refused", inside, "afloat", "127.0.0.1:0", refused},
		{"a process in our sandbox that has ended is refused", inside, "fleeting", "127.0.0.1:0", isUnknown},
		{"a plain process that has ended is refused too, because it looks like one in our sandbox", plain, "fleeting", "127.0.0.1:0", isUnknown},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := serve(t, c.address)
			if c.fake == "fleeting" {
				s.bytes.Store(2) // the server waits for a second byte. It never comes, so the wait ends when the caller has closed its end
			}
			_, port, _ := net.SplitHostPort(s.addr)
			address := strings.Replace(s.addr, "[::]:"+port, "127.0.0.1:"+port, 1)
			start(t, c.kind, c.fake, address)
			if err := s.verdict(); !c.want(err) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestCallersBesideASandbox: while a sandbox shares the network, a caller of the same user as the
// sandbox is served only if its process is found.
func TestCallersBesideASandbox(t *testing.T) {
	other := serve(t, "127.0.0.1:0")
	start(t, inside, "afloat", other.addr) // it stays
	if err := other.verdict(); err == nil {
		t.Fatalf("the process inside: %v", err)
	}
	s := serve(t, "127.0.0.1:0")
	user := os.Geteuid()
	if user == 0 {
		user = nobody
	}
	for _, c := range []struct {
		rule, fake string
		user       int
		served     bool
	}{
		{"a process of the same user is served", "call", user, true},
		{"a process of another user is served", "call", os.Geteuid(), true},
		{"a process is refused if the server cannot inspect it", "hidden", user, os.Geteuid() == 0}, // a server of root can inspect it
	} {
		t.Run(c.rule, func(t *testing.T) {
			cmd := exec.Command(program(t), "-fake", c.fake, s.addr)
			if c.user != os.Geteuid() {
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(c.user), Gid: uint32(c.user)}}
			}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if err := s.verdict(); (err == nil) != c.served || err != nil && !isUnknown(err) {
				t.Errorf("%v", err)
			}
		})
	}
}

// program returns a copy of this program that every user can start.
func program(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "daemon-access-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	self, err := os.ReadFile("/proc/self/exe")
	path := filepath.Join(dir, "caller")
	if err := errors.Join(err, os.WriteFile(path, self, 0o755), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPeer: Peer refuses a process at the other end of a Unix socket if it is in one of our
// sandboxes, or if that cannot be seen. It admits others.
func TestPeer(t *testing.T) {
	for _, c := range []struct {
		rule string
		kind kind
		want func(error) bool
	}{
		{"a plain process is served", plain, func(err error) bool { return err == nil }},
		{"a process in another sandbox is served over a Unix socket", foreign, func(err error) bool { return err == nil }},
		{"a process in our sandbox is refused", inside, isInside},
	} {
		t.Run(c.rule, func(t *testing.T) {
			path := filepath.Join(filepath.Dir(program(t)), "socket")
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
			if err := errors.Join(err, os.Chmod(path, 0o777)); err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			start(t, c.kind, "unix", path)
			_ = l.SetDeadline(time.Now().Add(patience))
			conn, err := l.AcceptUnix()
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, _ = conn.Read(make([]byte, 1)) // otherwise it finds the connection closed when it sends
			if err := Peer(pidOf(t, conn)); !c.want(err) {
				t.Errorf("%v", err)
			}
			_, _ = io.WriteString(conn, "done")
		})
	}
	t.Run("a process that cannot be seen is refused", func(t *testing.T) {
		if err := Peer(0); !isUnknown(err) {
			t.Errorf("%v", err)
		}
	})
	t.Run("a process that has ended is refused", func(t *testing.T) {
		cmd := exec.Command("/bin/true")
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		if err := Peer(cmd.Process.Pid); !isUnknown(err) {
			t.Errorf("%v", err)
		}
	})
}

func pidOf(t *testing.T, conn *net.UnixConn) int {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) { cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err := errors.Join(err, credErr); err != nil {
		t.Fatal(err)
	}
	return int(cred.Pid)
}

// BenchmarkCaller measures the cost of each new connection without a token.
func BenchmarkCaller(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	ours, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer ours.Close()
	local, remote := addrOf(ours.RemoteAddr()), addrOf(ours.LocalAddr())
	for b.Loop() {
		if err := Caller(local, remote); err != nil {
			b.Fatal(err)
		}
	}
}
