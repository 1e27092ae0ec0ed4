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

	"github.com/patchbay-dev/patchbay/internal/daemonaccess"
	"github.com/patchbay-dev/patchbay/internal/limits"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/sandbox/broker"
	"github.com/patchbay-dev/patchbay/internal/sandbox/jail"
	"github.com/patchbay-dev/patchbay/internal/scratch"
)

const (
	// maxReport bounds the size of a report from the jail. The plugin cannot write to that socket,
	// but a note may contain long paths.
	maxReport = 64 << 10

	// maxSockets is the number of descriptors that one message can carry (SCM_MAX_FD).
	maxSockets = 253

	// buildTime bounds the time in which a jail is built. That takes milliseconds, unless a file
	// system hangs.
	buildTime = 30 * time.Second
)

// Pack writes the plan for a launch and opens the control socket on which its jail will report.
func (b *Box) Pack(l proc.Launch) (*proc.Packed, error) {
	s := &session{box: b, descriptors: l.Descriptors}
	if b.opts.System.simple() {
		if err := s.makePrivate(); err != nil {
			return nil, err
		}
	}
	plan, err := b.draft(l, s.private)
	if err != nil {
		s.close()
		return nil, err
	}
	packed, err := s.pack(plan)
	if err != nil {
		s.close()
	}
	return packed, err
}

// draft creates the granted files that are missing, and plans the jail for a program that is about
// to start.
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

// makePrivate creates the directory that a sandbox without namespaces has instead of directories in
// memory. It also removes such directories left by hosts that were killed.
func (s *session) makePrivate() error {
	path, left, err := scratch.Make("sandbox")
	if left != nil {
		s.box.opts.Log.Warn("directories of earlier sandboxes could not be removed", "err", left)
	}
	s.private = path
	return err
}

// A session is the host's side of one process in a box, from its start to its end.
type session struct {
	box     *Box
	control *net.UnixConn
	notes   []string // deviations from the plan that are known before the start
	private string   // a directory that is removed at the end; may be empty
	sockets string   // how the jail passes connections on: "redirect" or "ports"; empty if it has no network
	broker  *broker.Broker
	serving sync.WaitGroup

	ahead *ahead // nil if the jail was not built ahead

	descriptors *limits.Descriptors
	taken       int // the number of descriptors taken from it
}

func (s *session) pack(plan *draft) (*proc.Packed, error) {
	s.notes = plan.finish()
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
		Close: s.close,
	}, nil
}

// memoryFile returns a file in memory with the given content.
func memoryFile(content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("plan", unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3, which added MFD_NOEXEC_SEAL
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

// connect creates the control socket and returns the jail's end of it.
func (s *session) connect() (theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	theirs = os.NewFile(uintptr(pair[1]), "control")
	ours := os.NewFile(uintptr(pair[0]), "control")
	defer ours.Close() // FileConn duplicated it
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, errors.Join(err, theirs.Close())
	}
	s.control = conn.(*net.UnixConn)
	return theirs, nil
}

// await reads the reports of the jail until the program runs or the start has failed. Without
// namespaces the jail itself becomes the program. It then reports before it executes the program.
// Executing the program closes the socket, so await knows from its end that the program runs.
func (s *session) await(ctx context.Context) error {
	_ = s.control.SetReadDeadline(time.Now().Add(buildTime))
	stop := context.AfterFunc(ctx, func() { _ = s.control.SetReadDeadline(time.Now()) })
	defer stop()
	becomes := false
	for {
		r, sockets, err := s.receive()
		if ctx.Err() != nil || r.Sockets == "" {
			_ = closeFiles(sockets) // nothing was written to them
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, io.EOF) && becomes:
			return nil
		case errors.Is(err, io.EOF):
			return earlyEnd()
		case err != nil:
			return fmt.Errorf("no report from the sandbox: %w", err)
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
		case r.Starts && s.ahead != nil:
			s.ahead.starts = true
		case r.Runs && s.box.opts.System.simple() && !becomes:
			becomes = true
			_ = s.finalResult(r) // logs its notes
		default:
			return s.finalResult(r)
		}
	}
}

var errEnded = errors.New("the sandbox ended before the program was started")

// earlyEnd is the error for a jail that ended without a report, as patchbay-jail of another version
// does.
func earlyEnd() error {
	if filepath.Base(jailProgram()) != jail.Helper {
		return errEnded
	}
	return fmt.Errorf("%w: if %s is of another version than the program beside it, install both again", errEnded, jailProgram())
}

// finalResult returns the result that the last report of the jail stands for, and logs its notes.
func (s *session) finalResult(r jail.Report) error {
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

// receive reads one report, and the descriptors that came with it.
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
		return jail.Report{}, nil, errors.Join(errors.New("its report cannot be decoded"), closeFiles(files))
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

// serve answers on the sockets that the jail opened in its own network. The first one is for DNS,
// the others are for connections.
func (s *session) serve(sockets []*os.File) error {
	o := s.box.opts
	if err := s.descriptors.Take(len(sockets)); err != nil {
		return errors.Join(err, closeFiles(sockets))
	}
	s.taken += len(sockets)
	s.broker = broker.New(broker.Options{Grants: destinations(o.Grants), Resolve: o.Resolve, Dial: o.Dial, Refused: whyRefused, Here: daemonaccess.Here, OnDenied: o.OnDenied, Log: o.Log,
		Take: s.descriptors.Take, Give: s.descriptors.Give})
	for i, f := range sockets {
		if err := s.serveOne(i, f); err != nil {
			return errors.Join(err, closeFiles(sockets[i+1:]))
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
	defer f.Close() // net.FilePacketConn and net.FileListener duplicate it
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

// close releases everything that the session holds. It is called when the process has ended or was
// not started.
func (s *session) close() {
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
			s.box.opts.Log.Warn("the directory of a sandbox could not be removed", "path", s.private, "err", err)
		}
	}
}

// jailProgram is the path of the executable that is started as the jail.
var jailProgram = sync.OnceValue(func() string {
	executable, err := os.Executable()
	if err != nil {
		return itself
	}
	return programIn(filepath.Dir(executable))
})

// itself is the running executable, even if its file was replaced or removed.
const itself = "/proc/self/exe"

// programIn returns the path of patchbay-jail in a directory. If patchbay-jail is missing there, or
// not to be trusted, programIn returns the running executable.
func programIn(dir string) string {
	helper := filepath.Join(dir, jail.Helper)
	if info, err := os.Stat(helper); err != nil || !info.Mode().IsRegular() || unix.Access(helper, unix.X_OK) != nil || !trusted(info) {
		return itself
	}
	return helper
}

// trusted reports whether a file is owned by root, this user or the owner of this executable, and
// cannot be written by all users. In a directory like /tmp any user could put a patchbay-jail
// beside the executable.
func trusted(info os.FileInfo) bool {
	owners := []uint32{0, uint32(os.Geteuid())}
	var stat unix.Stat_t
	if unix.Stat(itself, &stat) == nil {
		owners = append(owners, stat.Uid)
	}
	file, ok := info.Sys().(*syscall.Stat_t)
	return ok && slices.Contains(owners, file.Uid) && info.Mode().Perm()&0o002 == 0
}
