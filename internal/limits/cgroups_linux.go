package limits

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// maxLeft is how many cgroups are kept because a process of an earlier call still runs in them. If
// there are more, the oldest is killed. Otherwise a plugin that leaves a process behind at each
// call could multiply its limits.
const maxLeft = 64

// boxTasks is added to the limit of processes if the program runs in a box. The box itself has up
// to three processes in the cgroup, Go programs with 18 threads together. They must not count as
// processes of the plugin.
const boxTasks = 24

// Cgroups creates the cgroups of one host's processes: one each, "patchbay-HOST-NUMBER", below the
// host's own. It is safe for concurrent use. The zero value is ready to use.
type Cgroups struct {
	once sync.Once   // finds the tree
	tree *cgroupTree // nil if no tree can be used

	mu   sync.Mutex // protects the fields below
	last int        // the number of the last cgroup
	left []*cgroup  // their own process has ended, but others still run in them; the oldest first
}

// enclose creates a cgroup for the process, if the host has a tree.
func (s *Cgroups) enclose(e *Enforcer, boxed bool, log *slog.Logger) error {
	s.once.Do(func() { s.find(log) })
	if s.tree == nil {
		return nil
	}
	kept := s.tree.enforceable(e.limits)
	if boxed && kept.Processes > 0 {
		kept.Processes += boxTasks
	}
	c, err := s.open(kept)
	if err != nil {
		return err
	}
	dir, err := os.Open(c.dir)
	if err != nil {
		return errors.Join(err, c.remove())
	}
	e.cgroup, e.dir = c, dir
	e.rest = s.tree.unenforceable(e.limits)
	return nil
}

// enforceable returns the limits that a cgroup can enforce here.
func (t *cgroupTree) enforceable(l Limits) Limits {
	var kept Limits
	if t.memory {
		kept.Memory = l.Memory
	}
	if t.pids {
		kept.Processes = l.Processes
	}
	return kept
}

// unenforceable returns the limits that a cgroup cannot enforce here.
func (t *cgroupTree) unenforceable(l Limits) Limits {
	if t.memory {
		l.Memory = 0
	}
	if t.pids {
		l.Processes = 0
	}
	return l
}

// find finds and divides the host's cgroup. It is called once.
func (s *Cgroups) find(log *slog.Logger) {
	tree, err := findCgroup("/", os.Getpid())
	if err == nil {
		err = tree.divide()
	}
	if err != nil {
		log.Debug("no cgroup to limit processes with", "err", err)
		return
	}
	tree.sweep()
	s.tree = tree
}

// open creates a cgroup with these limits.
func (s *Cgroups) open(l Limits) (*cgroup, error) {
	s.removeEmptied()
	c, err := s.make()
	if err != nil {
		return nil, err
	}
	if err := c.limit(l); err != nil {
		return nil, errors.Join(err, syscall.Rmdir(c.dir))
	}
	return c, nil
}

// make creates a cgroup under a name that no other Cgroups of this program uses.
func (s *Cgroups) make() (*cgroup, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		s.last++
		dir := filepath.Join(s.tree.dir, "patchbay-"+strconv.Itoa(s.tree.host)+"-"+strconv.Itoa(s.last))
		err := os.Mkdir(dir, 0o755)
		if err == nil {
			return &cgroup{dir}, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
}

// Drop removes the cgroup of a process that was reaped, and kills the processes left in it. If
// spare is true, these go on within their limits, and the cgroup is removed when it is empty.
func (s *Cgroups) Drop(e *Enforcer, spare bool) error {
	if e == nil || e.cgroup == nil {
		return nil
	}
	if !spare {
		return e.cgroup.remove()
	}
	if e.cgroup.removeEmpty() == nil {
		return nil
	}
	return s.keep(e.cgroup)
}

// keep keeps a cgroup that still has processes.
func (s *Cgroups) keep(c *cgroup) error {
	s.mu.Lock()
	s.left = append(s.left, c)
	var oldest *cgroup
	if len(s.left) > maxLeft {
		oldest, s.left = s.left[0], s.left[1:]
	}
	s.mu.Unlock()
	if oldest == nil {
		return nil
	}
	return oldest.remove()
}

// removeEmptied removes the kept cgroups that have become empty.
func (s *Cgroups) removeEmptied() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var inhabited []*cgroup
	for _, c := range s.left {
		if c.removeEmpty() != nil {
			inhabited = append(inhabited, c)
		}
	}
	s.left = inhabited
}

// Close kills and removes everything that is left.
func (s *Cgroups) Close() error {
	s.mu.Lock()
	left := s.left
	s.left = nil
	s.mu.Unlock()
	var errs []error
	for _, c := range left {
		errs = append(errs, c.remove())
	}
	return errors.Join(errs...)
}

// sweep removes cgroups left by hosts that were killed. The guardian has killed their processes
// (package guard).
func (t *cgroupTree) sweep() {
	entries, err := os.ReadDir(t.dir)
	if err != nil {
		return // cgroups that are left do no harm
	}
	for _, entry := range entries {
		if host := hostOf(entry.Name()); host > 0 && errors.Is(syscall.Kill(host, 0), syscall.ESRCH) {
			_ = (&cgroup{filepath.Join(t.dir, entry.Name())}).removeEmpty()
		}
	}
}

// hostOf returns the pid of the host that created the cgroup of this name, or 0 if none did.
func hostOf(name string) int {
	host, number, found := strings.Cut(strings.TrimPrefix(name, "patchbay-"), "-")
	if !found || !strings.HasPrefix(name, "patchbay-") {
		return 0
	}
	pid, err := strconv.Atoi(host)
	if _, err2 := strconv.Atoi(number); err != nil || err2 != nil {
		return 0
	}
	return pid
}
