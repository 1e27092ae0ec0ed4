package jail

import "syscall"

// rootSize bounds what the jail's own root directory holds: links, mount points and a few small
// files.
const rootSize = "4m"

// mounts builds a root directory out of the plan and makes it the only one.
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
			return while(err, "look at what is mounted")
		}
		s.placed = make(map[string]uint64)
	}
	procfs, err := s.procfs(plan) // while the host's own is in sight, which the kernel asks for
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
		if err := b.make(&plan[i], trees[i]); err != nil {
			return while(err, "mount "+plan[i].Target)
		}
	}
	if err := b.finish(); err != nil {
		return err
	}
	return while(enter(b.root, !b.covered), "enter the root directory")
}

// openTrees opens every bind with this process's own rights.
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

// openTree makes a copy of the mounts at a path, restricted as the plan says. -1: there is nothing
// to be bound, or it is not there, and need not be. With a user namespace, files are its user's own
// in the copy where their real owner is the host's user.
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
		if err := lend(tree, users); err != nil && m.Write { // its files stay root's
			note = m.Source + ": its file system cannot lend files to another user, so only what everybody may write can be written: " + err.Error()
		}
	}
	// Private, since a copy of a shared mount is shared, too: what is mounted on it in here would
	// be mounted for the host as well.
	if err = setMount(tree, atRecursive, &mountAttr{set: m.attributes(), propagation: syscall.MS_PRIVATE}); err != nil {
		_ = syscall.Close(tree)
		return -1, "", while(err, "restrict "+m.Source)
	}
	return tree, note, nil
}

// openSource copies the mounts at a path that has no links in it: the host followed them all. A
// link that took the place of something since then is not followed, but an error.
func openSource(path string) (tree int, err error) {
	at, err := openat2(atFdcwd, path, &openHow{flags: oPath | syscall.O_CLOEXEC, resolve: resolveNoSymlinks})
	if err != nil {
		return -1, err
	}
	defer syscall.Close(at)
	// Recursively, since an unprivileged user may not look beneath another's mounts.
	return openTreeAt(at, "", openTreeClone|openTreeCloexec|atRecursive|atEmptyPath)
}

// lend makes the files in a tree of mounts those of a namespace's user. Where one of the file
// systems beneath cannot, as the many that the kernel itself keeps beneath the root cannot, it is
// done for the uppermost alone.
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

// procfs makes the jail's own /proc, if the plan has one: -1 where the kernel does not allow it,
// since the host's own is partly hidden (as in some containers).
func (s *stage) procfs(plan []Mount) (int, error) {
	for i := range plan {
		if plan[i].Kind != Proc {
			continue
		}
		fd, err := newMount("proc", mountAttrRdonly|mountAttrNoexec, "hidepid", "invisible")
		if is(err, syscall.EPERM) {
			s.notes = append(s.notes, "no /proc: the host's own is partly hidden, so the kernel does not make another")
			return -1, nil
		}
		return fd, while(err, "make /proc")
	}
	return -1, nil
}

// newMount makes a file system that is mounted nowhere yet. The options are names and values.
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

// newRoot puts an empty directory in memory over some directory that exists everywhere; what was
// beneath is open by now.
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

// openDirectory opens a directory as a place.
func openDirectory(path string) (int, error) {
	return syscall.Open(path, oPath|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
}

// enter makes the directory the root of this and every process in here, and lets go of the old one.
// One of the jail's own making is finished now, and not to be changed any more.
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
