//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tries makes the named system calls, and prints the name of the error, or "ok".
func tries(args []string) int {
	for _, name := range args {
		err := attempts[name]()
		switch errno, ok := err.(syscall.Errno); {
		case err == nil:
			fmt.Println(name, "ok")
		case ok:
			fmt.Println(name, unix.ErrnoName(errno))
		default:
			fmt.Println(name, err)
		}
	}
	return 0
}

// attempts are made in /tmp, which is the program's own.
var attempts = map[string]func() error{
	"chmod setuid":     func() error { return raw(unix.SYS_FCHMODAT, cwd, file(), 0o4755) },
	"chmod setgid":     func() error { return raw(unix.SYS_FCHMODAT, cwd, file(), 0o2755) },
	"chmod sticky":     func() error { return raw(unix.SYS_FCHMODAT, cwd, file(), 0o1755) },
	"fchmodat2 setuid": func() error { return raw(unix.SYS_FCHMODAT2, cwd, file(), 0o4755) },
	"fchmod setuid":    func() error { return raw(unix.SYS_FCHMOD, 0, 0o4755) },
	"mknod setuid":     func() error { return raw(unix.SYS_MKNODAT, cwd, fresh(), unix.S_IFREG|0o4755, 0) },
	"mknod":            func() error { return raw(unix.SYS_MKNODAT, cwd, fresh(), unix.S_IFREG|0o755, 0) },
	"mknod device":     func() error { return raw(unix.SYS_MKNODAT, cwd, fresh(), unix.S_IFCHR|0o644, 0x0105) },
	"mknod disk":       func() error { return raw(unix.SYS_MKNODAT, cwd, fresh(), unix.S_IFBLK|0o644, 0x0700) },
	"mknod whiteout":   func() error { return raw(unix.SYS_MKNODAT, cwd, fresh(), unix.S_IFCHR, 0) },
	"mknod pipe":       func() error { return raw(unix.SYS_MKNODAT, cwd, fresh(), unix.S_IFIFO|0o644, 0) },
	"mknod socket":     func() error { return raw(unix.SYS_MKNODAT, cwd, fresh(), unix.S_IFSOCK|0o644, 0) },
	"rename":           func() error { return raw(unix.SYS_RENAMEAT2, cwd, file(), cwd, fresh(), unix.RENAME_NOREPLACE) },
	"rename, whiteout": func() error { return raw(unix.SYS_RENAMEAT2, cwd, file(), cwd, fresh(), unix.RENAME_WHITEOUT) },
	"lease":            func() error { return raw(unix.SYS_FCNTL, reader(), unix.F_SETLEASE, unix.F_RDLCK) },
	"delegation":       func() error { return raw(unix.SYS_FCNTL, reader(), unix.F_SETDELEG, 0) },
	"duplicate":        func() error { return raw(unix.SYS_FCNTL, reader(), unix.F_DUPFD_CLOEXEC, 0) },
	"exclusive flock":  func() error { return raw(unix.SYS_FLOCK, reader(), unix.LOCK_EX|unix.LOCK_NB) },
	"open_tree":        func() error { return raw(unix.SYS_OPEN_TREE, cwd, text("/tmp"), unix.OPEN_TREE_CLONE) },
	"open_tree_attr":   func() error { return raw(unix.SYS_OPEN_TREE_ATTR, cwd, text("/tmp"), unix.OPEN_TREE_CLONE) },
	"an unknown call":  func() error { return raw(unknownCalls) },
	"a call of x32":    func() error { return raw(0x40000000 + unix.SYS_GETPID) },
	"create setuid":    func() error { return raw(unix.SYS_OPENAT, cwd, fresh(), unix.O_CREAT|unix.O_WRONLY, 0o4755) },
	"create":           func() error { return raw(unix.SYS_OPENAT, cwd, fresh(), unix.O_CREAT|unix.O_WRONLY, 0o755) },
	"tmpfile setgid":   func() error { return raw(unix.SYS_OPENAT, cwd, text("/tmp"), unix.O_TMPFILE|unix.O_WRONLY, 0o2755) },
	"open, stray mode": func() error { return raw(unix.SYS_OPENAT, cwd, file(), unix.O_RDONLY, 0o6777) },
	"open directory":   func() error { return raw(unix.SYS_OPENAT, cwd, text("/tmp"), unix.O_RDONLY|unix.O_DIRECTORY, 0o6777) },
	"openat2":          func() error { return raw(unix.SYS_OPENAT2, cwd, file(), 0, 0) },
	"unix socket":      func() error { return raw(unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM, 0) },
	"unix socketpair": func() error {
		_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		return err
	},
	"inet socket":    func() error { return raw(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, 0) },
	"netlink socket": func() error { return raw(unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE) },
	"audit socket":   func() error { return raw(unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT) },
	"packet socket":  func() error { return raw(unix.SYS_SOCKET, unix.AF_PACKET, unix.SOCK_RAW, 0) },
	"memfd":          func() error { return raw(unix.SYS_MEMFD_CREATE, text("x"), 0) },
	"sealed memfd":   func() error { return raw(unix.SYS_MEMFD_CREATE, text("x"), unix.MFD_NOEXEC_SEAL) },
}

var cwd = uintptr(unix.AT_FDCWD & (1<<64 - 1))

func raw(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

// kept holds texts that are otherwise referenced only as numbers, so that they are not collected.
var kept []*byte

func text(s string) uintptr {
	p, err := unix.BytePtrFromString(s)
	if err != nil {
		panic(err)
	}
	kept = append(kept, p)
	return uintptr(unsafe.Pointer(p))
}

// file returns the name of a file in /tmp, and fresh a name that no file has.
func file() uintptr {
	if err := os.WriteFile("/tmp/file", nil, 0o755); err != nil {
		panic(err)
	}
	return text("/tmp/file")
}

// reader returns a descriptor of that file, open for reading.
func reader() uintptr {
	file()
	fd, err := unix.Open("/tmp/file", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		panic(err)
	}
	return uintptr(fd)
}

func fresh() uintptr { return text(fmt.Sprintf("/tmp/fresh%d", len(kept))) }

func TestFilter(t *testing.T) {
	if here().Filter != nil {
		t.Skip(here().Filter)
	}
	needNamespaces(t)
	for _, c := range []struct {
		rule string
		o    Options
		want map[string]string
	}{
		{"no file can be created that runs as its owner", Options{}, map[string]string{
			"chmod setuid": "EPERM", "chmod setgid": "EPERM", "chmod sticky": "ok", "fchmodat2 setuid": "EPERM", "fchmod setuid": "EPERM",
			"mknod setuid": "EPERM", "mknod": "ok", "create setuid": "EPERM", "create": "ok", "tmpfile setgid": "EPERM",
			"open, stray mode": "ok", "open directory": "ok", "openat2": "ENOSYS",
		}},
		{"no device and no whiteout can be created", Options{}, map[string]string{
			"mknod device": "EPERM", "mknod disk": "EPERM", "mknod whiteout": "EPERM", "mknod pipe": "ok", "mknod socket": "ok", "rename": "ok",
			"rename, whiteout": "EPERM",
		}},
		{"no process can be made to wait for a file", Options{}, map[string]string{
			"lease": "EPERM", "delegation": "EINVAL", "duplicate": "ok", "exclusive flock": "ok",
		}},
		{"an unknown call does not exist", Options{}, map[string]string{
			"open_tree": "EPERM", "open_tree_attr": "EPERM", "an unknown call": "ENOSYS", "a call of x32": "ENOSYS",
		}},
		{"only a few kinds of sockets can be created", Options{}, map[string]string{
			"unix socket": "ok", "unix socketpair": "ok", "inet socket": "ok", "netlink socket": "ok", "audit socket": "EAFNOSUPPORT", "packet socket": "EAFNOSUPPORT",
		}},
		{"a plugin that sees files of the outside cannot create Unix sockets", Options{Grants: grants(t, "read:fs:"+t.TempDir())}, map[string]string{
			"unix socket": "EACCES", "unix socketpair": "ok", "inet socket": "ok",
		}},
		{"a file in memory cannot be executed", Options{}, map[string]string{"memfd": "EACCES", "sealed memfd": "ok"}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var names []string
			for name := range c.want {
				names = append(names, name)
			}
			for line := range strings.Lines(output(t, fake(t, c.o, "tries", names...))) {
				at := strings.LastIndexByte(line, ' ')
				if name, got := line[:at], strings.TrimSpace(line[at:]); got != c.want[name] {
					t.Errorf("%s: %s, want %s", name, got, c.want[name])
				}
			}
		})
	}
}

// TestOldCalls: calls that only one kind of machine has are refused like the others.
func TestOldCalls(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("there are none on " + runtime.GOARCH)
	}
	numbers := map[uint32]bool{}
	for _, i := range new(draft).filter(landlockVersion()) {
		numbers[i.K] = true
	}
	for name, number := range map[string]uint32{"open": 2, "creat": 85, "chmod": 90, "mknod": 133} { // TestFilterAlone has the others
		if !numbers[number] {
			t.Errorf("the filter does not check %s", name)
		}
	}
}

// TestWhatMountsDoNotForbid: with namespaces, Landlock forbids what mounts cannot forbid.
func TestWhatMountsDoNotForbid(t *testing.T) {
	needNamespaces(t)
	needLandlock(t)
	s := newScene(t)
	outside := outsideTmp(t) // below /tmp it would lie in a writable directory, where Landlock cannot distinguish the two
	pipe := outside + "/pipe"
	if err := unix.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(pipe, 0o666); err != nil { // regardless of the umask
		t.Fatal(err)
	}
	write(t, s.dir+"/write/a/file", "moved", 0o644)
	write(t, s.dir+"/write/b/other", "", 0o644)
	reads, writes := Options{Grants: grants(t, "read:fs:"+outside)}, Options{Grants: grants(t, "write:fs:"+s.dir+"/write", "exec:mv:"+tool(t, "mv"))}
	t.Run("a pipe that may be read cannot be written", func(t *testing.T) {
		expect(t, sh(reads, "(exec 3<>"+pipe+") 2>/dev/null && echo opened || echo refused"), "refused")
	})
	t.Run("a file can be moved between two directories that may be written", func(t *testing.T) {
		expect(t, sh(writes, "mv "+s.dir+"/write/a/file "+s.dir+"/write/b/file && read x <"+s.dir+"/write/b/file; echo $x"), "moved")
		if _, err := os.Stat(s.dir + "/write/b/file"); err != nil {
			t.Error(err)
		}
	})
	t.Run("its own directories and the devices can be written", func(t *testing.T) {
		expect(t, sh(reads, "for f in /tmp/x /dev/shm/x $HOME/x /dev/null /var/tmp/x; do echo >$f || echo $f; done"), "")
	})
	t.Run("its output can be opened by name", func(t *testing.T) {
		expect(t, sh(reads, "echo named >/dev/stdout"), "named")
	})
}

// TestWhatProcHides: /proc does not show a user's keys, how the machine was started, or its
// services.
func TestWhatProcHides(t *testing.T) {
	needNamespaces(t)
	for name, o := range map[string]Options{"little is seen": {}, "everything is seen": {ReadAll: true}} {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{"/proc/keys", "/proc/key-users", "/proc/cmdline", "/proc/bootconfig"} {
				if _, err := os.Stat(path); err == nil {
					expect(t, sh(o, "x=; read x 2>/dev/null <"+path+"; echo \"${x:-hidden}\""), "hidden")
				}
			}
			expect(t, sh(o, `while IFS=: read number controllers path; do [ "$path" = / ] || echo "$path"; done </proc/self/cgroup; echo end`), "end")
		})
	}
}

func TestSignalsAreAsByDefault(t *testing.T) {
	script := "while read name value; do case $name in SigIgn:|SigBlk:) echo $name $value;; esac; done </proc/self/status"
	want := "SigBlk: 0000000000000000\nSigIgn: " + ignoredHere(t)
	t.Run("with namespaces", func(t *testing.T) {
		needNamespaces(t)
		expect(t, sh(Options{}, script), want)
	})
	t.Run("without", func(t *testing.T) {
		expect(t, sh(Options{System: needSimple(t)}, script), want)
	})
}

func TestKnownRights(t *testing.T) {
	for version, without := range map[int]uint64{
		1: unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV,
		2: unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV,
		3: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV,
		5: 0,
	} {
		if got := knownRights(version); got != allRights&^without {
			t.Errorf("version %d: %b", version, got)
		}
	}
}
