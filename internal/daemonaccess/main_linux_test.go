package daemonaccess

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

// patience bounds every wait for something that must happen.
const patience = time.Minute

const (
	nobody = 65534 // the user that the kernel sees for a plugin whose host is root

	// ordinary is a user who sees less of other processes than root. The user nobody cannot be used
	// here, because it is the user of sandboxes of root that run at the same time.
	ordinary = 64321
)

// TestMain also runs the fakes: the test binary, started again as "binary -fake NAME ARG…", does
// what NAME says.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "-fake" {
		if err := fakes()[os.Args[2]](os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			syscall.Exit(1)
		}
		syscall.Exit(0) // os.Exit takes a second under the race detector
	}
	goleak.VerifyTestMain(m)
}

// TestAsAnOrdinaryUser repeats the other tests as an ordinary user.
func TestAsAnOrdinaryUser(t *testing.T) { runAsOrdinary(t, "0") }

// TestWhereProcessesAreHidden repeats the other tests as an ordinary user: on a /proc that does not
// let the user inspect other users' processes, and on one that does not even show them.
func TestWhereProcessesAreHidden(t *testing.T) {
	for _, level := range []string{"1", "2"} {
		t.Run("hidepid="+level, func(t *testing.T) { runAsOrdinary(t, level) })
	}
}

// runAsOrdinary runs this program's tests with a /proc that is mounted with this hidepid.
func runAsOrdinary(t *testing.T, hidepid string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("all tests run as an ordinary user already")
	}
	binary := program(t)
	dir := filepath.Join(filepath.Dir(binary), "work")
	if err := errors.Join(os.Mkdir(dir, 0o777), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", "-fake", "ordinary", hidepid, binary, "-test.skip=^(TestAsAnOrdinaryUser|TestWhereProcessesAreHidden)$",
		"-test.v="+fmt.Sprint(testing.Verbose()), "-test.timeout=5m")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	text := strings.ReplaceAll(string(out), "\n", "\n    as a user: ")
	if err != nil {
		t.Fatalf("%v\n    as a user: %s", err, text)
	}
	t.Logf("\n    as a user: %s", text)
}

// becomeOrdinary runs a program as an ordinary user, in this process's own mount namespace.
func becomeOrdinary(args []string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, "hidepid="+args[0]); err != nil {
		return err
	}
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
	return cmd.Run()
}

// fakes are programs that tests start. All but "ordinary" and "jail" are callers: each connects to
// the address in its argument, and sends something.
func fakes() map[string]func([]string) error {
	return map[string]func([]string) error{
		"ordinary": becomeOrdinary,
		"jail":     runJail,
		"call":     call,
		"fleeting": callAndEnd,
		"orphan":   leaveChild,
		"hidden":   callHidden,
		"afloat":   callAfloat,
		"mapped":   callMapped,
		"paths":    callByPaths,
		"bound":    callBound,
		"unix":     callUnix,
	}
}

// runJail is the first process of a namespace. It starts another fake, and ends when no other
// process is left in the namespace.
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

// callByPaths uses multipath TCP if it is available. The socket in the table is then not the one
// that the program has.
func callByPaths(args []string) error {
	var d net.Dialer
	d.SetMultipathTCP(true)
	return callWith(&d, args[0])
}

// callBound calls from another loopback address.
func callBound(args []string) error {
	return callWith(&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 7, 7, 7)}}, args[0])
}

func callWith(d *net.Dialer, address string) error {
	conn, err := d.Dial("tcp", address)
	if err != nil {
		return err
	}
	return talk(conn)
}

// talk sends one byte, and waits until the server closes the connection.
func talk(conn net.Conn) error {
	defer conn.Close()
	if _, err := io.WriteString(conn, "x"); err != nil {
		return err
	}
	_, err := io.Copy(os.Stdout, conn)
	return err
}

// callAndEnd ends before it can be found.
func callAndEnd(args []string) error {
	conn, err := net.Dial("tcp", args[0])
	if err != nil {
		return err
	}
	_, err = io.WriteString(conn, "x")
	return errors.Join(err, conn.Close())
}

// leaveChild starts an orphan process that calls.
func leaveChild(args []string) error {
	cmd := exec.Command("/proc/self/exe", append([]string{"-fake", "call"}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stdout = os.Stdout
	return cmd.Start()
}

// callHidden hides its descriptors from other processes of its user.
func callHidden(args []string) error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	return call(args)
}

// callAfloat keeps its connection where no process has it: in a message that is never received.
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
	_, err = io.Copy(io.Discard, os.Stdin) // until the test ends
	return err
}

// callMapped uses IPv4 through an IPv6 socket.
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
