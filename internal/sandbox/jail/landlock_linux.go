package jail

import "syscall"

// This file makes the Landlock system calls itself. The Go library for Landlock restricts every
// thread of the process, but here only one must be restricted.

// fileRights are the rights that apply to files other than directories.
const fileRights = landlockReadFile | landlockWriteFile | landlockExecute | landlockTruncate | landlockIoctlDev

// landlock restricts the access of this thread to files, and to signals and abstract sockets of
// processes outside.
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

// allow adds a rule. It does nothing if the path is missing.
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
