package jail

import "syscall"

// rootSize bounds the jail's root directory, which holds links, mount points and a few small files.
const rootSize = "4m"

// mounts builds a root directory from the plan and makes it the only one.
func (s *stage) mounts(p *Plan, trees []int) error {
	plan := p.Mounts
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return while(err, "make mounts private")
	}
	if trees == nil {
		var err error
		if trees, err = openTrees(plan); err != nil {
			return err
		}
	}
	if p.Ahead {
		var err error
		if s.seen, err = identities(trees); err != nil {
			return while(err, "identify the mounted files")
		}
		s.placed = make(map[string]uint64)
	}
	procfs, err := s.procfs(plan) // now, because the kernel requires that the host's /proc is still visible
	if err != nil {
		return err
	}
	place, err := newRoot()
	if err != nil {
		return while(err, "make a root directory")
	}
	root, err := openDirectory(place)
	if err != nil {
		return while(err, "open the root directory")
	}
	b := builder{place: place, root: root, procfs: procfs, placed: s.placed}
	for i := range plan {
		if err := b.add(&plan[i], trees[i]); err != nil {
			return while(err, "mount "+plan[i].Target)
		}
	}
	if err := b.finish(); err != nil {
		return err
	}
	return while(enter(b.root, !b.covered), "enter the root directory")
}

// openTrees opens the source of every bind mount with the rights of this process.
func openTrees(plan []Mount) ([]int, error) {
	trees := none(len(plan))
	for i := range plan {
		var err error
		if trees[i], _, err = openTree(&plan[i], -1); err != nil {
			return nil, err
		}
	}
	return trees, nil
}

// openTree copies the mounts at a path and restricts the copy as the plan says. It returns -1 if
// the mount is not a bind mount, or if its source is missing and the plan allows that. users is a
// user namespace, or -1. If there is one and the plan lends the files, the files of the host's user
// belong to the user of the namespace in the copy.
func openTree(m *Mount, users int) (tree int, note string, err error) {
	if m.Kind != Bind {
		return -1, "", nil
	}
	tree, err = openSource(m.Source)
	if is(err, syscall.ENOENT) && m.Missing {
		return -1, "", nil
	}
	if err != nil {
		return -1, "", while(err, "open "+m.Source)
	}
	if users >= 0 && m.Lend {
		if err := lend(tree, users); err != nil && m.Write { // its files still belong to root
			note = m.Source + ": its file system cannot lend files to another user, so only files that all users may write can be written: " + err.Error()
		}
	}
	// The copy is made private. A copy of a shared mount would be shared too, and mounts on it in
	// the jail would appear on the host.
	if err = setMount(tree, atRecursive, &mountAttr{set: m.attributes(), propagation: syscall.MS_PRIVATE}); err != nil {
		_ = syscall.Close(tree)
		return -1, "", while(err, "restrict "+m.Source)
	}
	return tree, note, nil
}

// openSource copies the mounts at a path. The host has resolved all links in the path. If something
// was replaced by a link since then, the result is an error.
func openSource(path string) (tree int, err error) {
	at, err := openat2(atFdcwd, path, &openHow{flags: oPath | syscall.O_CLOEXEC, resolve: resolveNoSymlinks})
	if err != nil {
		return -1, err
	}
	defer syscall.Close(at)
	// The copy has all mounts below as well. Without them it would show what those mounts cover,
	// which the kernel does not allow an unprivileged user.
	return openTreeAt(at, "", openTreeClone|openTreeCloexec|atRecursive|atEmptyPath)
}

// lend maps the owner of the files in a tree of mounts to the user of a namespace. If a file system
// in the tree does not support that, only the topmost mount is mapped. Below the root directory
// there are several that do not, such as /proc.
func lend(tree, users int) error {
	attr := mountAttr{set: mountAttrIdmap, userns: uint64(users)}
	if setMount(tree, atRecursive, &attr) == nil {
		return nil
	}
	return setMount(tree, 0, &attr)
}

func (m *Mount) attributes() uint64 {
	attr := uint64(mountAttrNosuid)
	if !m.Devices {
		attr |= mountAttrNodev
	}
	if !m.Write {
		attr |= mountAttrRdonly
	}
	if !m.Exec {
		attr |= mountAttrNoexec
	}
	return attr
}

// procfs creates the jail's own /proc, if the plan has one. It returns -1 if the kernel refuses,
// because the host's own /proc is partly hidden, as in some containers.
func (s *stage) procfs(plan []Mount) (int, error) {
	for i := range plan {
		if plan[i].Kind != Proc {
			continue
		}
		fd, err := newMount("proc", mountAttrRdonly|mountAttrNoexec, "hidepid", "invisible")
		if is(err, syscall.EPERM) {
			s.notes = append(s.notes, "no /proc: the host's own is partly hidden, so the kernel does not allow another")
			return -1, nil
		}
		return fd, while(err, "make /proc")
	}
	return -1, nil
}

// newMount creates a file system that is not mounted anywhere yet. The options are names and values
// in turn.
func newMount(kind string, attr uintptr, options ...string) (int, error) {
	fs, err := fsopen(kind)
	if err != nil {
		return -1, err
	}
	defer syscall.Close(fs)
	for i := 0; i+1 < len(options); i += 2 {
		if err := fsconfig(fs, options[i], options[i+1]); err != nil {
			return -1, while(err, options[i])
		}
	}
	if err := fscreate(fs); err != nil {
		return -1, err
	}
	return fsmount(fs, attr|mountAttrNosuid|mountAttrNodev)
}

// newRoot mounts an empty directory in memory over a directory that exists everywhere. The files
// below it that the jail needs are open already.
func newRoot() (place string, err error) {
	root, err := newMount("tmpfs", mountAttrNoexec, "size", rootSize, "mode", "0755")
	if err != nil {
		return "", err
	}
	defer syscall.Close(root)
	for _, place := range []string{"/tmp", "/var", "/usr"} {
		if err = moveMount(root, atFdcwd, place); err == nil {
			return place, nil
		}
	}
	return "", err
}

// openDirectory opens a directory with O_PATH.
func openDirectory(path string) (int, error) {
	return syscall.Open(path, oPath|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
}

// enter makes the directory the root of this process and all its children, and detaches the old
// root. own says that the jail created the root itself; it is then made read-only.
func enter(root int, own bool) error {
	if err := syscall.Fchdir(root); err != nil {
		return err
	}
	if err := syscall.PivotRoot(".", "."); err != nil { // the old root now lies over the new one
		return err
	}
	if err := syscall.Unmount(".", syscall.MNT_DETACH); err != nil {
		return err
	}
	if err := syscall.Chdir("/"); err != nil || !own {
		return err
	}
	top, err := openDirectory("/")
	if err != nil {
		return err
	}
	defer syscall.Close(top)
	return setMount(top, 0, &mountAttr{set: mountAttrRdonly})
}
