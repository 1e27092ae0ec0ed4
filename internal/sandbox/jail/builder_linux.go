package jail

import "syscall"

// builder puts mounts into the new root. Every step on the way to a target is taken without
// following links: part of what is mounted already may be the plugin's own.
type builder struct {
	place  string // where the new root is mounted for now
	root   int
	procfs int // -1: there is none
	firm   []int

	covered bool // something that was granted lies over the root itself

	placed map[string]uint64 // the mount that lies on top at each target, by its number; nil: nobody will ask
}

// make makes one mount. tree is what is to be bound; -1: nothing is.
func (b *builder) make(m *Mount, tree int) error {
	switch m.Kind {
	case Bind:
		return b.attach(tree, m.Target)
	case Proc:
		return b.attach(b.procfs, m.Target)
	case Temp, Firm:
		return b.memory(m)
	case Dir:
		dir, err := b.directory(m.Target)
		if err == nil {
			_ = syscall.Close(dir)
		}
		return err
	case Link:
		return b.link(m)
	case File:
		return b.content(m)
	}
	return wrong("unknown kind " + string(m.Kind))
}

// memory makes an empty directory in memory. A firm one is kept open, to be closed to changes at
// the end.
func (b *builder) memory(m *Mount) error {
	mode := "1777"
	if m.Kind == Firm {
		mode = "0755"
	}
	fs, err := newMount("tmpfs", mountAttrNoexec, "size", decimal(uint64(m.Size)), "nr_inodes", decimal(uint64(m.Files)), "mode", mode)
	if err != nil {
		return err
	}
	if m.Kind == Firm {
		kept, err := duplicate(fs)
		if err != nil {
			return err
		}
		b.firm = append(b.firm, kept)
	}
	return b.attach(fs, m.Target)
}

// finish closes the firm directories to changes.
func (b *builder) finish() error {
	for _, fs := range b.firm {
		if err := setMount(fs, 0, &mountAttr{set: mountAttrRdonly}); err != nil {
			return while(err, "close a directory to changes")
		}
		_ = syscall.Close(fs)
	}
	return nil
}

// link makes a symbolic link, unless it is there already, or what was granted is without it.
func (b *builder) link(m *Mount) error {
	dir, name, err := b.parent(m.Target)
	if err != nil {
		return err
	}
	defer syscall.Close(dir)
	if err = symlinkat(m.Source, dir, name); is(err, syscall.EEXIST) || is(err, syscall.EROFS) {
		return nil
	}
	return err
}

// content makes a small file. Where something that was granted is in its place, the file is mounted
// over that.
func (b *builder) content(m *Mount) error {
	dir, name, err := b.parent(m.Target)
	if err != nil {
		return err
	}
	defer syscall.Close(dir)
	err = writeFile(dir, name, m.Content)
	switch {
	case is(err, syscall.EROFS):
		return nil // what was granted is without such a file
	case !is(err, syscall.EEXIST):
		return err
	}
	tree, err := fileTree(m.Content)
	if err != nil {
		return err
	}
	return b.attach(tree, m.Target)
}

// fileTree makes a mount that is a single file.
func fileTree(content string) (int, error) {
	scratch, err := newMount("tmpfs", mountAttrNoexec, "size", "64k")
	if err != nil {
		return -1, err
	}
	defer syscall.Close(scratch)
	if err := writeFile(scratch, "file", content); err != nil {
		return -1, err
	}
	// A file system that is mounted nowhere cannot be copied in part, so it is mounted for a
	// moment.
	if err := moveMount(scratch, atFdcwd, "/proc"); err != nil {
		return -1, err
	}
	tree, err := openTreeAt(scratch, "file", openTreeClone|openTreeCloexec)
	if undone := syscall.Unmount("/proc", syscall.MNT_DETACH); err == nil {
		err = undone
	}
	return tree, err
}

// attach moves a detached mount to its target, which is made where there is none. -1 is no mount.
func (b *builder) attach(tree int, target string) error {
	if tree < 0 {
		return nil
	}
	defer syscall.Close(tree)
	var stat syscall.Stat_t
	if err := syscall.Fstat(tree, &stat); err != nil {
		return err
	}
	open := b.file
	if stat.Mode&syscall.S_IFMT == syscall.S_IFDIR {
		open = b.directory
	}
	at, err := open(target)
	if err != nil {
		return err
	}
	defer syscall.Close(at)
	if err := moveMount(tree, at, ""); err != nil {
		return err
	}
	if b.placed != nil {
		if b.placed[target], err = mountID(tree); err != nil {
			return err
		}
	}
	if target == "/" { // what follows goes into what now lies on top
		b.covered = true
		b.root, err = openDirectory(b.place)
	}
	return err
}

// step opens one entry of a directory, and never a link.
func step(dir int, name string) (int, error) {
	const flags = oPath | syscall.O_NOFOLLOW | syscall.O_CLOEXEC
	return openat2(dir, name, &openHow{flags: flags, resolve: resolveNoSymlinks | resolveNoMagiclinks})
}

// directory opens a directory of the new root, and makes what is missing of its path.
func (b *builder) directory(target string) (int, error) {
	at, err := step(b.root, ".")
	if err != nil {
		return -1, err
	}
	for name, rest := "", target; rest != ""; {
		if name, rest = cut(rest, '/'); name == "" {
			continue // the root itself
		}
		next, err := step(at, name)
		if is(err, syscall.ENOENT) {
			if err = syscall.Mkdirat(at, name, 0o755); err == nil {
				next, err = step(at, name)
			}
		}
		_ = syscall.Close(at)
		if err != nil {
			return -1, while(err, name)
		}
		at = next
	}
	return at, nil
}

// file opens a file of the new root as a place to mount one, and makes it where there is none.
func (b *builder) file(target string) (int, error) {
	dir, name, err := b.parent(target)
	if err != nil {
		return -1, err
	}
	defer syscall.Close(dir)
	at, err := step(dir, name)
	if !is(err, syscall.ENOENT) {
		return at, err
	}
	if err := writeFile(dir, name, ""); err != nil {
		return -1, err
	}
	return step(dir, name)
}

// parent opens the directory in which a target lies, and says under what name.
func (b *builder) parent(target string) (dir int, name string, err error) {
	slash := 0
	for i := range len(target) {
		if target[i] == '/' {
			slash = i
		}
	}
	dir, err = b.directory(target[:slash])
	return dir, target[slash+1:], err
}

func writeFile(dir int, name, content string) error {
	fd, err := syscall.Openat(dir, name, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	_, err = syscall.Write(fd, []byte(content))
	return err
}
