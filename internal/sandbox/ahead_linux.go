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

// A jail can be built before there is a program for it. Most of what a sandbox costs is then paid
// before the call.
//
// When the program comes, its plan is worked out as if there were no such jail. The jail is used
// only where it is what that plan would build: the same namespaces, mounts and network; every mount
// of the same file or directory, by its number and not only by its name; nothing mounted or
// unmounted in the host's sight since then; and, which the jail itself sees to
// (jail/ahead_linux.go), every mount still at its place. Else it is thrown away. What a thread
// gives up before it starts the program, and the limits, come from the new plan.

// ahead is what a session remembers of a jail that was built ahead.
type ahead struct {
	built  []byte          // the part of its plan that was carried out
	seen   []jail.Identity // what each of its mounts has bound
	mounts int             // a descriptor that tells of changes to what is mounted for the host
}

// Build is Pack for a jail without its program: nil where none is built ahead. A launch like this
// one is to be expected.
func (b *Box) Build(l proc.Launch) (*proc.Packed, error) {
	if b.opts.System.simple() {
		return nil, nil // there is nothing to be built
	}
	s := &session{box: b, descriptors: l.Descriptors}
	packed, err := s.buildAhead(l)
	if err != nil {
		s.over()
	}
	return packed, err
}

func (s *session) buildAhead(l proc.Launch) (*proc.Packed, error) {
	if err := s.watchMounts(); err != nil { // before anything is looked at
		return nil, err
	}
	plan, err := s.box.plan(l, "")
	if err != nil {
		return nil, err
	}
	plan.Ahead = true
	plan.Path, plan.Argv, plan.Env, plan.Dir = "", nil, nil, "" // those come with the call; what waits is to know of none, its secrets least of all
	packed, err := s.pack(plan)
	if err != nil {
		return nil, err
	}
	s.ahead.built = buildOf(&plan.Plan)
	packed.Start = s.start
	return packed, nil
}

// watchMounts has the kernel tell of mounts. Its file must not be one of os: Go would poll it, and
// each change is told once.
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

// buildOf is what a plan says about everything that is built ahead, as bytes.
func buildOf(p *jail.Plan) []byte {
	build := jail.Plan{User: p.User, Group: p.Group, Files: p.Files, Simple: p.Simple, Mounts: p.Mounts, Net: p.Net, Loaders: p.Loaders}
	return build.Encode()
}

// start has a program run in the jail that was built ahead. [proc.ErrStale]: it is not the one that
// the program should have, and nothing was started.
func (s *session) start(ctx context.Context, l proc.Launch) error {
	plan, err := s.box.draft(l, "")
	if err != nil {
		return proc.ErrStale // a start without it will say why
	}
	notes, err := plan.finish()
	if err != nil || !s.ahead.serves(&plan.Plan) {
		return proc.ErrStale
	}
	file, err := memoryFile(plan.Encode())
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	defer file.Close()
	if _, _, err := s.control.WriteMsgUnix([]byte{0}, unix.UnixRights(int(file.Fd())), nil); err != nil {
		return proc.ErrStale // it has ended
	}
	s.notes = append(notes, s.notes...)
	err = s.await(ctx)
	if errors.Is(err, unix.ECONNRESET) {
		return proc.ErrStale // it ended before it had read the plan
	}
	return err
}

// serves reports whether the jail is what a plan would build now.
func (a *ahead) serves(p *jail.Plan) bool {
	if !bytes.Equal(buildOf(p), a.built) || len(a.seen) != len(p.Mounts) {
		return false
	}
	for i := range p.Mounts {
		if seen, err := identify(&p.Mounts[i]); err != nil || seen != a.seen[i] {
			return false
		}
	}
	return a.undisturbed()
}

// identify is which file a mount would bind now; zero where it would bind none.
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

// undisturbed reports whether nothing was mounted, unmounted or remounted for the host since the
// jail was begun. What lies beneath a directory that is bound was bound with it, and changes to
// that do not reach the jail.
func (a *ahead) undisturbed() bool {
	poll := []unix.PollFd{{Fd: int32(a.mounts), Events: unix.POLLPRI}}
	for {
		n, err := unix.Poll(poll, 0)
		if !errors.Is(err, unix.EINTR) {
			return err == nil && n == 0
		}
	}
}
