package jail

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// rootSize bounds what the jail's own root directory holds: links, mount points and a few small files.
const rootSize = "4m"

// mounts builds a root directory out of the plan and makes it the only one.
func (s *stage) mounts(plan []Mount, trees map[int]int) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return while(err, "make mounts private")
	}
	if trees == nil {
		var err error
		if trees, err = s.openTrees(plan); err != nil {
			return err
		}
	}
	procfs, err := s.procfs(plan) // while the host's own is in sight, which the kernel asks for
	if err != nil {
		return err
	}
	place, err := s.newRoot()
	if err != nil {
		return while(err, "make a root directory")
	}
	root, err := unix.Open(place, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return while(err, "open the root directory")
	}
	b := builder{place: place, root: root, trees: trees, procfs: procfs}
	for i, m := range plan {
		if err := b.make(i, m); err != nil {
			return while(err, "mount %s", m.Target)
		}
	}
	return while(enter(b.root), "enter the root directory")
}

// openTrees opens every bind with this process's own rights.
func (s *stage) openTrees(plan []Mount) (map[int]int, error) {
	trees := make(map[int]int)
	for i, m := range plan {
		if m.Kind != Bind {
			continue
		}
		tree, _, err := openTree(m, -1)
		if err != nil {
			return nil, err
		}
		if tree >= 0 {
			trees[i] = tree
		}
	}
	return trees, nil
}

// openTree makes a copy of the mounts at a path, restricted as the plan says. -1: it is not there, and need not be.
// With a user namespace, files are its user's own in the copy where their real owner is the host's user.
func openTree(m Mount, users int) (tree int, note string, err error) {
	// Recursively, since an unprivileged user may not look beneath another's mounts.
	tree, err = unix.OpenTree(unix.AT_FDCWD, m.Source, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if errors.Is(err, unix.ENOENT) && m.Missing {
		return -1, "", nil
	}
	if err != nil {
		return -1, "", while(err, "open %s", m.Source)
	}
	attr := unix.MountAttr{Attr_set: m.attributes()}
	if users >= 0 && m.Lend {
		attr.Attr_set |= unix.MOUNT_ATTR_IDMAP
		attr.Userns_fd = uint64(users)
		err = unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr)
		if err == nil {
			return tree, "", nil
		}
		attr = unix.MountAttr{Attr_set: m.attributes()} // a file system that cannot: its files stay root's
		if m.Write {
			note = m.Source + ": its file system cannot lend files to another user, so only what everybody may write can be written: " + err.Error()
		}
	}
	err = unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr)
	if err != nil {
		_ = unix.Close(tree)
		return -1, "", while(err, "restrict %s", m.Source)
	}
	return tree, note, nil
}

func (m Mount) attributes() uint64 {
	attr := uint64(unix.MOUNT_ATTR_NOSUID)
	if !m.Devices {
		attr |= unix.MOUNT_ATTR_NODEV
	}
	if !m.Write {
		attr |= unix.MOUNT_ATTR_RDONLY
	}
	if !m.Exec {
		attr |= unix.MOUNT_ATTR_NOEXEC
	}
	return attr
}

// procfs makes the jail's own /proc, if the plan has one: -1 where the kernel does not allow it, since the host's own is
// partly hidden (as in some containers).
func (s *stage) procfs(plan []Mount) (int, error) {
	for _, m := range plan {
		if m.Kind != Proc {
			continue
		}
		fd, err := newMount("proc", unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOEXEC, "hidepid", "invisible")
		if errors.Is(err, unix.EPERM) {
			s.notes = append(s.notes, "no /proc: the host's own is partly hidden, so the kernel does not make another")
			return -1, nil
		}
		return fd, while(err, "make /proc")
	}
	return -1, nil
}

// newMount makes a file system that is mounted nowhere yet.
func newMount(kind string, attr int, options ...string) (int, error) {
	fs, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fs)
	for i := 0; i+1 < len(options); i += 2 {
		if err := unix.FsconfigSetString(fs, options[i], options[i+1]); err != nil {
			return -1, fmt.Errorf("%s: %w", options[i], err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attr|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
}

// newRoot puts an empty directory in memory over some directory that exists everywhere; what was beneath is open by now.
func (s *stage) newRoot() (string, error) {
	root, err := newMount("tmpfs", unix.MOUNT_ATTR_NOEXEC, "size", rootSize, "mode", "0755")
	if err != nil {
		return "", err
	}
	defer unix.Close(root)
	for _, place := range []string{"/tmp", "/var", "/usr"} {
		err = unix.MoveMount(root, "", unix.AT_FDCWD, place, unix.MOVE_MOUNT_F_EMPTY_PATH)
		if err == nil {
			return place, nil
		}
	}
	return "", err
}

// enter makes the directory the root of this and every process in here, and lets go of the old one.
func enter(root int) error {
	if err := unix.Fchdir(root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil { // the old root now lies over the new one
		return err
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return err
	}
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	return unix.MountSetattr(unix.AT_FDCWD, "/", 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// builder puts mounts into the new root. Every step on the way to a target is taken without following links: part of what is
// mounted already may be the plugin's own.
type builder struct {
	place  string // where the new root is mounted for now
	root   int
	trees  map[int]int
	procfs int
}

func (b *builder) make(i int, m Mount) error {
	switch m.Kind {
	case Bind:
		tree, ok := b.trees[i]
		if !ok {
			return nil
		}
		return b.attach(tree, m.Target)
	case Proc:
		if b.procfs < 0 {
			return nil
		}
		return b.attach(b.procfs, m.Target)
	case Temp:
		fs, err := newMount("tmpfs", unix.MOUNT_ATTR_NOEXEC, "size", strconv.FormatInt(m.Size, 10), "mode", "1777")
		if err != nil {
			return err
		}
		return b.attach(fs, m.Target)
	case Dir:
		_, err := b.directory(m.Target)
		return err
	case Link:
		err := b.inParent(m.Target, func(dir int, name string) error { return unix.Symlinkat(m.Source, dir, name) })
		if errors.Is(err, unix.EEXIST) { // something that was granted is there
			return nil
		}
		return err
	case File:
		return b.content(m)
	}
	return fmt.Errorf("unknown kind %q", m.Kind)
}

// content makes a small file. Where something that was granted is in its place, the file is mounted over that.
func (b *builder) content(m Mount) error {
	err := b.inParent(m.Target, func(dir int, name string) error { return writeFile(dir, name, m.Content) })
	if !errors.Is(err, unix.EEXIST) {
		return err
	}
	scratch, err := newMount("tmpfs", unix.MOUNT_ATTR_NOEXEC, "size", "64k")
	if err != nil {
		return err
	}
	defer unix.Close(scratch)
	if err := writeFile(scratch, "file", m.Content); err != nil {
		return err
	}
	// A file system that is mounted nowhere cannot be copied in part, so it is mounted for a moment.
	if err := unix.MoveMount(scratch, "", unix.AT_FDCWD, "/proc", unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return err
	}
	tree, err := unix.OpenTree(scratch, "file", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err = errors.Join(err, unix.Unmount("/proc", unix.MNT_DETACH)); err != nil {
		return err
	}
	return b.attach(tree, m.Target)
}

// attach moves a detached mount to its target, which is made where there is none.
func (b *builder) attach(tree int, target string) error {
	defer unix.Close(tree)
	var stat unix.Stat_t
	if err := unix.Fstat(tree, &stat); err != nil {
		return err
	}
	var at int
	var err error
	if stat.Mode&unix.S_IFMT == unix.S_IFDIR {
		at, err = b.directory(target)
	} else {
		at, err = b.file(target)
	}
	if err != nil {
		return err
	}
	defer unix.Close(at)
	if err := unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		return err
	}
	if target == "/" { // what follows goes into what now lies on top
		b.root, err = unix.Open(b.place, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	return err
}

// step opens one entry of a directory, and never a link.
func step(dir int, name string) (int, error) {
	return unix.Openat2(dir, name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS})
}

// directory opens a directory of the new root, and makes what is missing of its path.
func (b *builder) directory(target string) (int, error) {
	at, err := step(b.root, ".")
	if err != nil {
		return -1, err
	}
	for name := range strings.SplitSeq(strings.Trim(target, "/"), "/") {
		if name == "" {
			continue // the root itself
		}
		next, err := step(at, name)
		if errors.Is(err, unix.ENOENT) {
			if err = unix.Mkdirat(at, name, 0o755); err == nil {
				next, err = step(at, name)
			}
		}
		_ = unix.Close(at)
		if err != nil {
			return -1, fmt.Errorf("%s: %w", name, err)
		}
		at = next
	}
	return at, nil
}

// file opens a file of the new root as a place to mount one, and makes it where there is none.
func (b *builder) file(target string) (at int, err error) {
	err = b.inParent(target, func(dir int, name string) error {
		at, err = step(dir, name)
		if !errors.Is(err, unix.ENOENT) {
			return err
		}
		if err := writeFile(dir, name, ""); err != nil {
			return err
		}
		at, err = step(dir, name)
		return err
	})
	return at, err
}

func (b *builder) inParent(target string, do func(dir int, name string) error) error {
	dir, err := b.directory(path.Dir(target))
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return do(dir, path.Base(target))
}

func writeFile(dir int, name, content string) error {
	fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte(content))
	return err
}
