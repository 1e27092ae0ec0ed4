package doors

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// patience is how long a test waits for what must come; it is not a measure of anything.
const patience = 30 * time.Second

// nobody is an ordinary user, who sees less of other processes than root.
const nobody = 65534

// TestMain is also the fakes: the test binary, started again as "binary -fake NAME ARG…", does as its name says.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "-fake" {
		if err := fakes()[os.Args[2]](os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			syscall.Exit(1)
		}
		syscall.Exit(0) // not os.Exit, which takes a second under the race detector
	}
	goleak.VerifyTestMain(m)
}

// TestAsNobody runs every other test once more as an ordinary user.
func TestAsNobody(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("all tests run as an ordinary user already")
	}
	dir, err := os.MkdirTemp("", "doors-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	binary := filepath.Join(dir, "tests")
	self, err := os.ReadFile("/proc/self/exe")
	if err := errors.Join(err, os.WriteFile(binary, self, 0o755), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "-test.skip=^TestAsNobody$", "-test.v="+fmt.Sprint(testing.Verbose()), "-test.timeout=5m")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	text := strings.ReplaceAll(string(out), "\n", "\n    as nobody: ")
	if err != nil {
		t.Fatalf("%v\n    as nobody: %s", err, text)
	}
	t.Logf("\n    as nobody: %s", text)
}

// fakes are callers. Each connects to the address that is its argument, and says something there.
func fakes() map[string]func([]string) error {
	return map[string]func([]string) error{
		"jail":     runJail,
		"call":     call,
		"fleeting": callAndEnd,
		"orphan":   leaveChild,
		"hidden":   callHidden,
		"afloat":   callAfloat,
		"mapped":   callMapped,
		"unix":     callUnix,
	}
}

// runJail runs another fake as the first process of a namespace, until nothing else is left in it.
func runJail(args []string) error {
	cmd := exec.Command("/proc/self/exe", append([]string{"-fake"}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	for {
		_, err := syscall.Wait4(-1, nil, 0, nil)
		if errors.Is(err, syscall.ECHILD) {
			return nil
		}
	}
}

func call(args []string) error {
	conn, err := net.Dial("tcp", args[0])
	if err != nil {
		return err
	}
	return talk(conn)
}

// talk waits for what the server says, which is when it is done.
func talk(conn net.Conn) error {
	defer conn.Close()
	if _, err := io.WriteString(conn, "x"); err != nil {
		return err
	}
	_, err := io.Copy(os.Stdout, conn)
	return err
}

// callAndEnd is gone before it can be looked for.
func callAndEnd(args []string) error {
	conn, err := net.Dial("tcp", args[0])
	if err != nil {
		return err
	}
	_, err = io.WriteString(conn, "x")
	return errors.Join(err, conn.Close())
}

// leaveChild has a process call that is nobody's child.
func leaveChild(args []string) error {
	cmd := exec.Command("/proc/self/exe", append([]string{"-fake", "call"}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stdout = os.Stdout
	return cmd.Start()
}

// callHidden does not let others of its user look at its descriptors.
func callHidden(args []string) error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	return call(args)
}

// callAfloat keeps its connection where no process has it: in a message that nobody takes.
func callAfloat(args []string) error {
	conn, err := net.Dial("tcp", args[0])
	if err != nil {
		return err
	}
	file, err := conn.(*net.TCPConn).File()
	if err != nil {
		return err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	if err := unix.Sendmsg(pair[0], []byte("x"), unix.UnixRights(int(file.Fd())), nil, 0); err != nil {
		return err
	}
	if _, err := file.WriteString("x"); err != nil {
		return err
	}
	if err := errors.Join(file.Close(), conn.Close()); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin) // until the test is done
	return err
}

// callMapped uses IPv4 through a socket of IPv6.
func callMapped(args []string) error {
	addr, err := net.ResolveTCPAddr("tcp", args[0])
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	if err := unix.Connect(fd, &unix.SockaddrInet6{Port: addr.Port, Addr: [16]byte(addr.IP.To16())}); err != nil {
		return err
	}
	file := os.NewFile(uintptr(fd), "connection")
	conn, err := net.FileConn(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return talk(conn)
}

func callUnix(args []string) error {
	conn, err := net.Dial("unix", args[0])
	if err != nil {
		return err
	}
	return talk(conn)
}
