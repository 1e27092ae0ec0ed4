package jail

import "syscall"

// Landlock is spoken to directly: the library made for it restricts every thread of the process,
// and here it must be one.

// fileRights are those that mean something for a file that is no directory.
const fileRights = landlockReadFile | landlockWriteFile | landlockExecute | landlockTruncate | landlockIoctlDev

// landlock restricts this thread: what it may do with files; no signals to and no abstract sockets
// of processes outside.
func landlock(plan *Landlock) error {
	if plan.Handled|plan.Scoped == 0 {
		return nil
	}
	rules, err := landlockRuleset(&rulesetAttr{files: plan.Handled, scoped: plan.Scoped})
	if err != nil {
		return while(err, "make Landlock rules")
	}
	defer syscall.Close(rules)
	for _, r := range plan.Rules {
		if err := allow(rules, r); err != nil {
			return while(err, "allow the use of "+r.Path)
		}
	}
	return while(landlockRestrict(rules), "restrict by Landlock")
}

// allow adds a rule; what is not there needs none.
func allow(rules int, r Rule) error {
	fd, err := openat2(atFdcwd, r.Path, &openHow{flags: oPath | syscall.O_CLOEXEC, resolve: resolveNoSymlinks})
	if is(err, syscall.ENOENT) || is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	var stat syscall.Stat_t
	if err := syscall.Fstat(fd, &stat); err != nil {
		return err
	}
	if stat.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		r.Rights &= fileRights
	}
	return landlockRule(rules, &pathAttr{rights: r.Rights, parent: int32(fd)})
}
