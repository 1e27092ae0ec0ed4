package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/sandbox/jail"
)

// A jail can be built before there is a program for it. Most of the cost of a sandbox is then paid
// before the call.
//
// When the program comes, its plan is made as if no jail were waiting. The waiting jail is used
// only if the plan would build the same one: the same namespaces, mounts and network; each mount
// bound to the same file or directory, by device and inode as well as by name; and nothing mounted
// or unmounted on the host since then. The jail itself checks that each mount is still in its place
// (jail/ahead_linux.go). Otherwise the jail is discarded. The restrictions and limits of the
// program come from the new plan.

// ahead is the state of a session whose jail was built ahead.
type ahead struct {
	built  []byte          // the part of its plan that was carried out, encoded
	seen   []jail.Identity // the file that each of its mounts is bound to
	mounts int             // a descriptor that reports changes to the host's mounts
	starts bool            // the jail has reported that it starts the program
}

// Build is Pack for a jail that waits for its program. It returns nil where jails are not built
// ahead. l is a launch like the one that is expected.
func (b *Box) Build(l proc.Launch) (*proc.Packed, error) {
	if b.opts.System.simple() {
		return nil, nil // without namespaces nothing is built
	}
	s := &session{box: b, descriptors: l.Descriptors}
	packed, err := s.buildAhead(l)
	if err != nil {
		s.close()
	}
	return packed, err
}

func (s *session) buildAhead(l proc.Launch) (*proc.Packed, error) {
	if err := s.watchMounts(); err != nil { // before the plan looks at any file
		return nil, err
	}
	plan, err := s.box.plan(l, "")
	if err != nil {
		return nil, err
	}
	plan.Ahead = true
	plan.Path, plan.Argv, plan.Env, plan.Dir = "", nil, nil, "" // the call brings these; a waiting jail must not know them, least of all secrets in the environment
	packed, err := s.pack(plan)
	if err != nil {
		return nil, err
	}
	s.ahead.built = buildOf(&plan.Plan)
	packed.Start = s.start
	return packed, nil
}

// watchMounts opens a descriptor by which the kernel reports changes to the host's mounts. It is
// not an os.File, because Go would poll it, and the kernel reports each change only once.
func (s *session) watchMounts() error {
	if err := s.descriptors.Take(1); err != nil {
		return err
	}
	s.taken++
	fd, err := unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	s.ahead = &ahead{mounts: fd}
	return nil
}

// buildOf encodes the part of a plan that is built ahead.
func buildOf(p *jail.Plan) []byte {
	build := jail.Plan{User: p.User, Group: p.Group, Files: p.Files, Simple: p.Simple, Mounts: p.Mounts, Net: p.Net, Loaders: p.Loaders}
	return build.Encode()
}

// start runs a program in the jail that was built ahead. It returns [proc.ErrStale], and starts
// nothing, if the jail is not the one that the program should have.
func (s *session) start(ctx context.Context, l proc.Launch) error {
	plan, err := s.box.draft(l, "")
	if err != nil {
		return proc.ErrStale // a start without this jail reports the error
	}
	notes := plan.finish()
	if !s.ahead.matches(&plan.Plan) {
		return proc.ErrStale
	}
	file, err := memoryFile(plan.Encode())
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	defer file.Close()
	if _, _, err := s.control.WriteMsgUnix([]byte{0}, unix.UnixRights(int(file.Fd())), nil); err != nil {
		return proc.ErrStale // the jail has ended
	}
	s.notes = append(notes, s.notes...)
	err = s.await(ctx)
	if ended := errors.Is(err, unix.ECONNRESET) || errors.Is(err, errEnded); ended && !s.ahead.starts {
		return proc.ErrStale // the jail ended before it started the program
	}
	return err
}

// matches reports whether the plan p would build the same jail now.
func (a *ahead) matches(p *jail.Plan) bool {
	if !bytes.Equal(buildOf(p), a.built) || len(a.seen) != len(p.Mounts) {
		return false
	}
	for i := range p.Mounts {
		if seen, err := identify(&p.Mounts[i]); err != nil || seen != a.seen[i] {
			return false
		}
	}
	return a.mountsUnchanged()
}

// identify returns the file that a mount would bind now; zero if it would bind none.
func identify(m *jail.Mount) (jail.Identity, error) {
	if m.Kind != jail.Bind {
		return jail.Identity{}, nil
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, m.Source, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if errors.Is(err, unix.ENOENT) && m.Missing {
		return jail.Identity{}, nil
	}
	if err != nil {
		return jail.Identity{}, err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return jail.Identity{}, err
	}
	return jail.Identity{Device: uint64(stat.Dev), Inode: stat.Ino}, nil //nolint:unconvert // Dev is smaller on some machines
}

// mountsUnchanged reports whether the host's mounts have not changed since the jail was begun.
// Mounts below a bound directory were copied into the jail with it, and later changes to them do
// not reach the jail.
func (a *ahead) mountsUnchanged() bool {
	poll := []unix.PollFd{{Fd: int32(a.mounts), Events: unix.POLLPRI}}
	for {
		n, err := unix.Poll(poll, 0)
		if !errors.Is(err, unix.EINTR) {
			return err == nil && n == 0
		}
	}
}
