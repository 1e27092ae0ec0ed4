package jail

import "syscall"

// A builder puts mounts into the new root. It follows no links on the way to a target, because the
// plugin may own parts of what is already mounted.
type builder struct {
	place  string // where the new root is mounted during the build
	root   int
	procfs int // -1 if there is none
	firm   []int

	covered bool // a granted directory covers the root itself

	placed map[string]uint64 // the id of the topmost mount at each target; nil if it is not needed
}

// add makes one mount. tree is the opened source of a bind mount, or -1.
func (b *builder) add(m *Mount, tree int) error {
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
	return textError("unknown kind " + string(m.Kind))
}

// memory mounts an empty directory in memory. One of kind Firm is kept open, so that finish can
// make it read-only.
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

// finish makes the directories of kind Firm read-only.
func (b *builder) finish() error {
	for _, fs := range b.firm {
		if err := setMount(fs, 0, &mountAttr{set: mountAttrRdonly}); err != nil {
			return while(err, "close a directory to changes")
		}
		_ = syscall.Close(fs)
	}
	return nil
}

// link creates a symbolic link. If the target exists, or lies in a read-only mount, it does
// nothing.
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

// content creates a small file. If the target exists, the file is mounted over it.
func (b *builder) content(m *Mount) error {
	dir, name, err := b.parent(m.Target)
	if err != nil {
		return err
	}
	defer syscall.Close(dir)
	err = writeFile(dir, name, m.Content)
	switch {
	case is(err, syscall.EROFS):
		return nil // the target lies in a read-only mount that has no such file
	case !is(err, syscall.EEXIST):
		return err
	}
	tree, err := fileTree(m.Content)
	if err != nil {
		return err
	}
	return b.attach(tree, m.Target)
}

// fileTree returns a mount that consists of a single file.
func fileTree(content string) (int, error) {
	scratch, err := newMount("tmpfs", mountAttrNoexec, "size", "64k")
	if err != nil {
		return -1, err
	}
	defer syscall.Close(scratch)
	if err := writeFile(scratch, "file", content); err != nil {
		return -1, err
	}
	// Part of a file system that is not mounted cannot be copied, so it is mounted for a moment.
	if err := moveMount(scratch, atFdcwd, "/proc"); err != nil {
		return -1, err
	}
	tree, err := openTreeAt(scratch, "file", openTreeClone|openTreeCloexec)
	if undone := syscall.Unmount("/proc", syscall.MNT_DETACH); err == nil {
		err = undone
	}
	return tree, err
}

// attach moves a detached mount to its target, and creates the target if it is missing. It does
// nothing if tree is -1.
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
	if target == "/" { // later mounts go into the new topmost root
		b.covered = true
		b.root, err = openDirectory(b.place)
	}
	return err
}

// step opens one entry of a directory, but not a link.
func step(dir int, name string) (int, error) {
	const flags = oPath | syscall.O_NOFOLLOW | syscall.O_CLOEXEC
	return openat2(dir, name, &openHow{flags: flags, resolve: resolveNoSymlinks | resolveNoMagiclinks})
}

// directory opens a directory of the new root, and creates the missing elements of its path.
func (b *builder) directory(target string) (int, error) {
	at, err := step(b.root, ".")
	if err != nil {
		return -1, err
	}
	for name, rest := "", target; rest != ""; {
		if name, rest = cut(rest, '/'); name == "" {
			continue // skip the root and double slashes
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

// file opens a file of the new root to mount on it, and creates the file if it is missing.
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

// parent opens the directory of a target and returns the target's name in it.
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
