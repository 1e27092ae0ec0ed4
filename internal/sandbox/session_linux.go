package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/patchbay-dev/patchbay/internal/doors"
	"github.com/patchbay-dev/patchbay/internal/limits"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/sandbox/broker"
	"github.com/patchbay-dev/patchbay/internal/sandbox/jail"
	"github.com/patchbay-dev/patchbay/internal/scratch"
)

const (
	// maxReport bounds a message of the jail; the plugin cannot write to that socket, but a note
	// may have long paths in it.
	maxReport = 64 << 10

	// maxSockets is how many descriptors a message may carry (SCM_MAX_FD).
	maxSockets = 253

	// buildTime bounds the building of a jail, which takes milliseconds; only a file system that
	// hangs needs longer.
	buildTime = 30 * time.Second
)

// Pack writes the plan for a launch and opens the socket by which its jail will report.
func (b *Box) Pack(l proc.Launch) (*proc.Packed, error) {
	s := &session{box: b, descriptors: l.Descriptors}
	if b.opts.System.simple() {
		if err := s.makePrivate(); err != nil {
			return nil, err
		}
	}
	plan, err := b.draft(l, s.private)
	if err != nil {
		s.over()
		return nil, err
	}
	packed, err := s.pack(plan)
	if err != nil {
		s.over()
	}
	return packed, err
}

// draft makes what is granted and missing, and works the plan out for a program that is about to be
// started.
func (b *Box) draft(l proc.Launch, private string) (*draft, error) {
	if err := b.makeMissing(); err != nil {
		return nil, err
	}
	plan, err := b.plan(l, private)
	if err == nil && b.opts.OnPlan != nil {
		b.opts.OnPlan(plan.trees)
	}
	return plan, err
}

// makePrivate makes the directory that stands for the ones in memory. What hosts that were killed
// have left is removed on that occasion.
func (s *session) makePrivate() error {
	path, left, err := scratch.Make("sandbox")
	if left != nil {
		s.box.opts.Log.Warn("directories of sandboxes are left", "err", left)
	}
	s.private = path
	return err
}

// A session is the host's side of one process in a box, from its start to its end.
type session struct {
	box     *Box
	control *net.UnixConn
	notes   []string // what is not as planned, known before the start
	private string   // a directory to be removed at the end; empty: none
	sockets string   // by what way connections come: "redirect" or "ports"; empty: no network
	broker  *broker.Broker
	serving sync.WaitGroup

	ahead *ahead // nil: it was not built ahead

	descriptors *limits.Descriptors
	taken       int // of them
}

func (s *session) pack(plan *draft) (*proc.Packed, error) {
	var err error
	if s.notes, err = plan.finish(); err != nil {
		return nil, err
	}
	file, err := memoryFile(plan.Encode())
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	theirs, err := s.connect()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("control socket: %w", err), file.Close())
	}
	return &proc.Packed{
		Path: jailProgram(), Argv: []string{jail.Outer}, Env: jail.Environ(jail.Outer, plan.Files),
		Files: []*os.File{theirs, file},
		Await: s.await,
		Over:  s.over,
	}, nil
}

// memoryFile is a file without a name that has a given content.
func memoryFile(content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("plan", unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate("plan", unix.MFD_CLOEXEC)
	}
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "plan")
	if _, err := f.Write(content); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// connect makes the control socket and returns the jail's end of it.
func (s *session) connect() (theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	theirs = os.NewFile(uintptr(pair[1]), "control")
	ours := os.NewFile(uintptr(pair[0]), "control")
	defer ours.Close() // FileConn has a duplicate
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, errors.Join(err, theirs.Close())
	}
	s.control = conn.(*net.UnixConn)
	return theirs, nil
}

// await follows the reports of the jail until the program runs, or does not. Without namespaces the
// jail becomes the program, so that its word is only that it will: it keeps it by closing the
// socket.
func (s *session) await(ctx context.Context) error {
	_ = s.control.SetReadDeadline(time.Now().Add(buildTime))
	stop := context.AfterFunc(ctx, func() { _ = s.control.SetReadDeadline(time.Now()) })
	defer stop()
	becomes := false
	for {
		r, sockets, err := s.receive()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, io.EOF) && becomes:
			return nil
		case errors.Is(err, io.EOF):
			return errEarly()
		case err != nil:
			return fmt.Errorf("no word from the sandbox: %w", err)
		case r.Sockets != "":
			s.sockets = r.Sockets
			if err := s.serve(sockets); err != nil {
				return err
			}
		case r.Built && s.ahead != nil:
			s.ahead.seen, s.notes = r.Seen, append(s.notes, r.Notes...)
			return nil
		case r.Stale:
			return proc.ErrStale
		case r.Runs && s.box.opts.System.simple() && !becomes:
			becomes = true
			_ = s.heard(r) // its notes
		default:
			return s.heard(r)
		}
	}
}

// errEarly is for a sandbox that ended without a word. A helper from another version does.
func errEarly() error {
	const text = "the sandbox ended before the program was started"
	if filepath.Base(jailProgram()) != jail.Helper {
		return errors.New(text)
	}
	return fmt.Errorf("%s: if %s is not of the version of the program beside it, install both again", text, jailProgram())
}

// heard is what a last report comes to.
func (s *session) heard(r jail.Report) error {
	if r.Runs {
		for _, note := range append(s.notes, r.Notes...) {
			s.box.opts.Log.Warn("sandbox not as planned", "note", note)
		}
		return nil
	}
	if r.Stage == jail.StageExec && r.Errno != 0 {
		return syscall.Errno(r.Errno)
	}
	return &BuildError{Stage: r.Stage, Reason: r.Error, Errno: syscall.Errno(r.Errno)}
}

// receive reads one report, with the descriptors that came along.
func (s *session) receive() (jail.Report, []*os.File, error) {
	text, rights := make([]byte, maxReport), make([]byte, unix.CmsgSpace(4*maxSockets))
	n, oob, _, _, err := s.control.ReadMsgUnix(text, rights)
	if err != nil {
		return jail.Report{}, nil, err
	}
	if n == 0 {
		return jail.Report{}, nil, io.EOF
	}
	files, err := filesOf(rights[:oob])
	if err != nil {
		return jail.Report{}, nil, err
	}
	r, ok := jail.DecodeReport(text[:n])
	if !ok {
		return jail.Report{}, nil, errors.New("what it says cannot be understood")
	}
	return r, files, nil
}

func filesOf(oob []byte) ([]*os.File, error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, err
	}
	files := make([]*os.File, len(fds))
	for i, fd := range fds {
		unix.CloseOnExec(fd)
		files[i] = os.NewFile(uintptr(fd), "sandbox socket")
	}
	return files, nil
}

// serve answers on the sockets that the jail made in its own network: the first is for names, the
// others for connections.
func (s *session) serve(sockets []*os.File) error {
	o := s.box.opts
	if err := s.descriptors.Take(len(sockets)); err != nil {
		return errors.Join(err, closeFiles(sockets))
	}
	s.taken += len(sockets)
	s.broker = broker.New(broker.Options{Grants: destinations(o.Grants), Resolve: o.Resolve, Dial: o.Dial, Refused: ownDoor, Here: doors.Here, OnDenied: o.OnDenied, Log: o.Log,
		Take: s.descriptors.Take, Give: s.descriptors.Give})
	for i, f := range sockets {
		if err := s.serveOne(i, f); err != nil {
			return err
		}
	}
	return nil
}

func closeFiles(files []*os.File) error {
	var errs []error
	for _, f := range files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

func (s *session) serveOne(i int, f *os.File) error {
	defer f.Close() // what is made of it has a duplicate
	if i == 0 {
		names, err := net.FilePacketConn(f)
		if err == nil {
			s.serving.Go(func() { s.broker.ServeDNS(names) })
		}
		return err
	}
	l, err := net.FileListener(f)
	if err == nil {
		s.serving.Go(func() { s.broker.ServeTCP(l.(*net.TCPListener)) })
	}
	return err
}

// over ends the session: the process is gone, or never was.
func (s *session) over() {
	if s.control != nil {
		_ = s.control.Close()
	}
	if s.ahead != nil {
		_ = unix.Close(s.ahead.mounts)
		s.ahead = nil
	}
	if s.broker != nil {
		_ = s.broker.Close()
		s.serving.Wait()
	}
	s.descriptors.Give(s.taken)
	s.taken = 0
	if s.private != "" {
		if err := scratch.Remove(s.private); err != nil {
			s.box.opts.Log.Warn("a sandbox's directory is left", "path", s.private, "err", err)
		}
	}
}

// jailProgram is what is started as the jail.
var jailProgram = sync.OnceValue(func() string {
	executable, err := os.Executable()
	if err != nil {
		return itself
	}
	return programIn(filepath.Dir(executable))
})

// itself is this executable, also when its file was replaced or removed.
const itself = "/proc/self/exe"

// programIn is the helper in a directory, or else this executable.
func programIn(dir string) string {
	helper := filepath.Join(dir, jail.Helper)
	if info, err := os.Stat(helper); err != nil || !info.Mode().IsRegular() || unix.Access(helper, unix.X_OK) != nil || !trusted(info) {
		return itself
	}
	return helper
}

// trusted reports whether nobody but root, this user or the owner of this executable can have
// written a file: in a directory like /tmp everybody can put a helper beside somebody else's
// executable.
func trusted(info os.FileInfo) bool {
	owners := []uint32{0, uint32(os.Geteuid())}
	var stat unix.Stat_t
	if unix.Stat(itself, &stat) == nil {
		owners = append(owners, stat.Uid)
	}
	file, ok := info.Sys().(*syscall.Stat_t)
	return ok && slices.Contains(owners, file.Uid) && info.Mode().Perm()&0o002 == 0
}
