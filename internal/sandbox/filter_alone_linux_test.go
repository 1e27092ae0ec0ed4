//go:build amd64 || arm64

package sandbox

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// decide returns the filter's decision on a system call: 0 if it is allowed, or the error.
func decide(t *testing.T, filter []unix.SockFilter, number uint32, args ...uint64) unix.Errno {
	t.Helper()
	data := binary.LittleEndian.AppendUint32(nil, number)
	data = binary.LittleEndian.AppendUint32(data, archHere())
	data = binary.LittleEndian.AppendUint64(data, 0)
	for i := range 6 {
		var a uint64
		if i < len(args) {
			a = args[i]
		}
		data = binary.LittleEndian.AppendUint64(data, a)
	}
	var loaded uint32
	jump := func(i unix.SockFilter, yes bool) int {
		if yes {
			return int(i.Jt)
		}
		return int(i.Jf)
	}
	for at := 0; at < len(filter); at++ {
		switch i := filter[at]; i.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			loaded = binary.LittleEndian.Uint32(data[i.K:])
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			loaded &= i.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			at += jump(i, loaded == i.K)
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			at += jump(i, loaded >= i.K)
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			at += jump(i, loaded&i.K != 0)
		case unix.BPF_RET | unix.BPF_K:
			if i.K == unix.SECCOMP_RET_ALLOW {
				return 0
			}
			return unix.Errno(i.K & 0xffff)
		default:
			t.Fatalf("instruction %d is %#v", at, i)
		}
	}
	t.Fatal("the filter has no end")
	return 0
}

// pointer is an address whose low half is 0, which can occur.
const pointer = 0x7f00_0000_0000

// TestFilterAlone: the decisions of the filter without namespaces, call by call.
// TestEscapesWithLandlockAlone checks them with the kernel.
func TestFilterAlone(t *testing.T) {
	const last = 7 // version of Landlock
	nothing, something, everything := attributes{}, attributes{ByDescriptor: true}, attributes{Read: true, ByPath: true, ByDescriptor: true}
	for _, c := range []struct {
		rule     string
		landlock int
		call     call
		want     [3]unix.Errno // for a plugin that may change nothing, something, everything
	}{
		{"mode by path", last, call{unix.SYS_FCHMODAT, []uint64{0, pointer, 0o644}}, [3]unix.Errno{unix.EPERM, unix.EPERM, 0}},
		{"mode by path, newest call", last, call{unix.SYS_FCHMODAT2, []uint64{0, pointer, 0o644}}, [3]unix.Errno{unix.EPERM, unix.EPERM, 0}},
		{"mode by descriptor", last, call{unix.SYS_FCHMOD, []uint64{3, 0o644}}, [3]unix.Errno{unix.EPERM, 0, 0}},
		{"mode with setuid", last, call{unix.SYS_FCHMOD, []uint64{3, 0o4755}}, [3]unix.Errno{unix.EPERM, unix.EPERM, unix.EPERM}},
		{"owner by path", last, call{unix.SYS_FCHOWNAT, nil}, [3]unix.Errno{unix.EPERM, unix.EPERM, 0}},
		{"owner by descriptor", last, call{unix.SYS_FCHOWN, nil}, [3]unix.Errno{unix.EPERM, 0, 0}},
		{"times by path", last, call{unix.SYS_UTIMENSAT, []uint64{3, pointer}}, [3]unix.Errno{unix.EPERM, unix.EPERM, 0}},
		{"times by path, a low address", last, call{unix.SYS_UTIMENSAT, []uint64{3, 0x1000}}, [3]unix.Errno{unix.EPERM, unix.EPERM, 0}},
		{"times by descriptor", last, call{unix.SYS_UTIMENSAT, []uint64{3, 0}}, [3]unix.Errno{unix.EPERM, 0, 0}},
		{"attributes by path", last, call{unix.SYS_SETXATTR, nil}, [3]unix.Errno{unix.EPERM, unix.EPERM, 0}},
		{"attributes of a link", last, call{unix.SYS_LSETXATTR, nil}, [3]unix.Errno{unix.EPERM, unix.EPERM, 0}},
		{"attributes by path, newest call", last, call{unix.SYS_SETXATTRAT, nil}, [3]unix.Errno{unix.EPERM, unix.EPERM, 0}},
		{"attributes by descriptor", last, call{unix.SYS_FSETXATTR, nil}, [3]unix.Errno{unix.EPERM, 0, 0}},
		{"attributes removed", last, call{unix.SYS_REMOVEXATTR, nil}, [3]unix.Errno{unix.EPERM, unix.EPERM, 0}},
		{"attributes of a link removed", last, call{unix.SYS_LREMOVEXATTR, nil}, [3]unix.Errno{unix.EPERM, unix.EPERM, 0}},
		{"attributes removed, newest call", last, call{unix.SYS_REMOVEXATTRAT, nil}, [3]unix.Errno{unix.EPERM, unix.EPERM, 0}},
		{"attributes removed by descriptor", last, call{unix.SYS_FREMOVEXATTR, nil}, [3]unix.Errno{unix.EPERM, 0, 0}},
		{"attributes read by path", last, call{unix.SYS_GETXATTR, nil}, [3]unix.Errno{unix.EOPNOTSUPP, unix.EOPNOTSUPP, 0}},
		{"attributes read by descriptor", last, call{unix.SYS_FGETXATTR, nil}, [3]unix.Errno{}},
		{"flags by path", last, call{unix.SYS_FILE_SETATTR, nil}, [3]unix.Errno{unix.EPERM, unix.EPERM, 0}},
		{"flags by descriptor", last, control(unix.FS_IOC_SETFLAGS), [3]unix.Errno{unix.EPERM, 0, 0}},
		{"more flags by descriptor", last, control(fsSetFlagsX), [3]unix.Errno{unix.EPERM, 0, 0}},
		{"flags read by descriptor", last, control(unix.FS_IOC_GETFLAGS), [3]unix.Errno{}},
		{"a file sealed by descriptor (FS_IOC_ENABLE_VERITY)", last, control(0x40806685), [3]unix.Errno{unix.ENOTTY, unix.ENOTTY, unix.ENOTTY}},
		{"a snapshot by descriptor (BTRFS_IOC_SNAP_CREATE)", last, control(0x50009401), [3]unix.Errno{unix.ENOTTY, unix.ENOTTY, unix.ENOTTY}},
		{"a terminal's settings", last, control(unix.TCGETS), [3]unix.Errno{}},
		{"a terminal's input", last, control(unix.TIOCSTI), [3]unix.Errno{unix.EPERM, unix.EPERM, unix.EPERM}},
		{"bytes that can be read", last, control(unix.TIOCINQ), [3]unix.Errno{}},
		{"a socket's interfaces", last, control(unix.SIOCGIFCONF), [3]unix.Errno{}},
		{"a copy that shares blocks", last, control(unix.FICLONE), [3]unix.Errno{}},
		{"open for reading", last, opens(unix.O_RDONLY), [3]unix.Errno{}},
		{"open for both", last, opens(unix.O_RDWR | unix.O_CREAT), [3]unix.Errno{}},
		{"open for neither", last, opens(unix.O_ACCMODE), [3]unix.Errno{unix.EACCES, unix.EACCES, unix.EACCES}},
		{"truncate while opening for reading", last, opens(unix.O_RDONLY | unix.O_TRUNC), [3]unix.Errno{}},
		{"the same before version 3", 2, opens(unix.O_RDONLY | unix.O_TRUNC), [3]unix.Errno{unix.EACCES, unix.EACCES, 0}},
		{"truncate while opening for writing, before version 3", 2, opens(unix.O_WRONLY | unix.O_TRUNC), [3]unix.Errno{}},
		{"truncate by path", last, call{unix.SYS_TRUNCATE, nil}, [3]unix.Errno{}},
		{"the same before version 3", 2, call{unix.SYS_TRUNCATE, nil}, [3]unix.Errno{unix.EPERM, unix.EPERM, 0}},
		{"own limits", last, call{unix.SYS_PRLIMIT64, []uint64{0, unix.RLIMIT_NOFILE, pointer}}, [3]unix.Errno{}},
		{"another's limits", last, call{unix.SYS_PRLIMIT64, []uint64{7, unix.RLIMIT_CPU, pointer}}, [3]unix.Errno{unix.EPERM, unix.EPERM, unix.EPERM}},
		{"another's limits, to be read", last, call{unix.SYS_PRLIMIT64, []uint64{7, unix.RLIMIT_CPU, 0, pointer}}, [3]unix.Errno{}},
		{"own priority", last, call{unix.SYS_SETPRIORITY, []uint64{unix.PRIO_PROCESS, 0, 5}}, [3]unix.Errno{}},
		{"another's priority", last, call{unix.SYS_SETPRIORITY, []uint64{unix.PRIO_PROCESS, 7, 5}}, [3]unix.Errno{unix.EPERM, unix.EPERM, unix.EPERM}},
		{"the user's priority", last, call{unix.SYS_SETPRIORITY, []uint64{unix.PRIO_USER, 0, 5}}, [3]unix.Errno{unix.EPERM, unix.EPERM, unix.EPERM}},
		{"the user's priority on disks", last, call{unix.SYS_IOPRIO_SET, []uint64{ioprioUser, 0}}, [3]unix.Errno{unix.EPERM, unix.EPERM, unix.EPERM}},
		{"own processors", last, call{unix.SYS_SCHED_SETAFFINITY, []uint64{0}}, [3]unix.Errno{}},
		{"another's processors", last, call{unix.SYS_SCHED_SETAFFINITY, []uint64{7}}, [3]unix.Errno{unix.EPERM, unix.EPERM, unix.EPERM}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			for i, a := range []attributes{nothing, something, everything} {
				d := draft{Attributes: a}
				d.Simple = true
				if got := decide(t, d.filter(c.landlock), c.call.number, c.call.args...); got != c.want[i] {
					t.Errorf("%+v: %v, want %v", a, got, c.want[i])
				}
			}
			if got := decide(t, new(draft).filter(c.landlock), c.call.number, c.call.args...); got != 0 && c.want != [3]unix.Errno{got, got, got} {
				t.Errorf("with namespaces: %v", got)
			}
		})
	}
	t.Run("the old forms that only one kind of machine has", func(t *testing.T) {
		if runtime.GOARCH != "amd64" {
			t.Skip("there are none on " + runtime.GOARCH)
		}
		d := draft{Attributes: something}
		d.Simple = true
		for name, number := range map[string]uint32{"chmod": 90, "chown": 92, "lchown": 94, "utime": 132, "utimes": 235, "futimesat": 261} {
			if got := decide(t, d.filter(last), number, pointer, pointer); got != unix.EPERM {
				t.Errorf("%s: %v", name, got)
			}
		}
		if got := decide(t, d.filter(last), 261, 3, 0, pointer); got != 0 {
			t.Errorf("futimesat by descriptor: %v", got)
		}
	})
}

// A call is a system call with its arguments.
type call struct {
	number uint32
	args   []uint64
}

func control(command uint64) call { return call{unix.SYS_IOCTL, []uint64{3, command}} }

func opens(flags uint64) call { return call{unix.SYS_OPENAT, []uint64{0, pointer, flags, 0o644}} }

// TestAttributesOf: the grants decide by which calls a plugin may change attributes.
func TestAttributesOf(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want attributes
	}{
		{Options{Grants: grants(t, "read:fs:/a", "net:*")}, attributes{}},
		{Options{Grants: grants(t, "read:fs:/a", "write:fs:/b")}, attributes{ByDescriptor: true}},
		{Options{Grants: grants(t, "read:fs:/")}, attributes{Read: true}},
		{Options{Grants: grants(t, "write:fs:/")}, attributes{Read: true, ByPath: true, ByDescriptor: true}},
		{Options{ReadAll: true, Grants: grants(t, "write:fs:/b")}, attributes{Read: true, ByDescriptor: true}},
	} {
		t.Run(fmt.Sprint(c.o.Grants, c.o.ReadAll), func(t *testing.T) {
			if got := attributesOf(&c.o); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}
