package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/program"
	"github.com/patchbay-dev/patchbay/internal/sandbox/jail"
)

// libraryDirs are the system's directories of libraries. They may be read and mapped for execution.
// No directory of programs is among them. Some kernels cannot keep a plugin from starting the
// loader, and through it every program that it can read.
var libraryDirs = []string{"/lib", "/lib32", "/lib64", "/libx32", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32",
	"/usr/local/lib", "/usr/local/lib64"}

// dataDirs are the system's directories of shared data: time zones, certificates, locales.
var dataDirs = []string{"/usr/share", "/usr/local/share"}

// configFiles are the files in /etc that libraries and interpreters read. They contain no keys, no
// accounts and no names of other machines.
var configFiles = []string{"alternatives", "ca-certificates", "ca-certificates.conf", "debian_version", "fonts", "gai.conf", "ld.so.cache",
	"ld.so.conf", "ld.so.conf.d", "locale.alias", "locale.conf", "localtime", "lsb-release", "mime.types", "nodejs", "os-release",
	"pki/ca-trust", "pki/tls/certs", "pki/tls/openssl.cnf", "protocols", "services", "ssl/certs", "ssl/cert.pem", "ssl/openssl.cnf",
	"terminfo", "timezone"}

// devices are the devices that programs expect.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// essential are directories that the jail creates itself, beside those of libraries, data and
// programs.
var essential = []string{"/dev", "/etc", "/proc"}

// temporary are the directories in memory that every jail has.
var temporary = []string{"/tmp", "/var/tmp", "/dev/shm"}

// base mounts the files that every program needs.
func (p *planner) base() {
	for _, dir := range libraryDirs {
		p.system(dir, true)
	}
	for _, dir := range dataDirs {
		p.system(dir, false)
	}
	for _, name := range configFiles {
		p.system("/etc/"+name, false)
	}
	for _, pattern := range []string{"/etc/python*"} {
		matches, _ := filepath.Glob(pattern) // the pattern is well formed
		for _, path := range matches {
			p.system(path, false)
		}
	}
	for _, device := range devices {
		p.add(BecauseDevice, jail.Mount{Kind: jail.Bind, Source: device, Target: device, Write: true, Devices: true})
	}
	p.add(BecauseMemory,
		jail.Mount{Kind: jail.Link, Source: "/proc/self/fd", Target: "/dev/fd"},
		jail.Mount{Kind: jail.Link, Source: "/proc/self/fd/0", Target: "/dev/stdin"},
		jail.Mount{Kind: jail.Link, Source: "/proc/self/fd/1", Target: "/dev/stdout"},
		jail.Mount{Kind: jail.Link, Source: "/proc/self/fd/2", Target: "/dev/stderr"},
		inMemory("/dev/shm"),
		inMemory("/tmp"),
	)
	p.add("its own processes", jail.Mount{Kind: jail.Proc, Target: "/proc"})
	if target, err := os.Readlink("/var/tmp"); err == nil {
		p.add("", jail.Mount{Kind: jail.Link, Source: target, Target: "/var/tmp"})
	} else {
		p.add(BecauseMemory, inMemory("/var/tmp"))
	}
	p.hide()
}

// inMemory returns the mount of an empty directory in memory.
func inMemory(dir string) jail.Mount {
	return jail.Mount{Kind: jail.Temp, Target: dir, Size: tempSize, Files: tempFiles}
}

// hiddenInProc are files of /proc that show which keys users have, or how the machine was started:
// its disks, consoles and addresses, and the arguments of its first process.
var hiddenInProc = []string{"/proc/keys", "/proc/key-users", "/proc/cmdline", "/proc/bootconfig"}

// hidden is mounted over a file that must not be read.
const hidden = "/dev/null"

// hide covers the files of hiddenInProc, so that they are empty.
func (p *planner) hide() {
	for _, path := range hiddenInProc {
		if _, err := os.Lstat(path); err == nil {
			p.add("", jail.Mount{Kind: jail.Bind, Source: hidden, Target: path})
		}
	}
}

// mountEverything mounts the whole file system read-only; the rest of the plan goes on top of it.
// The directories in which programs leave their sockets are covered by empty ones, unless the
// program may change everything.
func (p *planner) mountEverything() {
	all := slices.Contains(p.opts.Grants, capability.Capability{Kind: capability.WriteFS, Path: "/"})
	p.add("it may read everything", jail.Mount{Kind: jail.Bind, Source: "/", Target: "/", Write: all, Exec: true, Lend: true})
	p.mayStart("/")
	for _, device := range devices {
		p.add(BecauseDevice, jail.Mount{Kind: jail.Bind, Source: device, Target: device, Write: true, Devices: true})
	}
	p.add("its own processes", jail.Mount{Kind: jail.Proc, Target: "/proc"})
	if !all {
		for _, dir := range append([]string{"/run"}, temporary...) {
			p.add(BecauseMemory, inMemory(dir))
		}
	}
	if dir := p.reach(p.launch.Dir); !p.visible(dir) { // its working directory would be hidden by one of the temporary directories
		p.add("where it works", jail.Mount{Kind: jail.Bind, Source: dir, Target: dir, Exec: true, Lend: true, Missing: true})
	}
	p.hide()
}

// programDirs are the system's directories of programs.
var programDirs = []string{"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/usr/libexec"}

// allPrograms makes the system's programs executable, including those among its libraries. Programs
// in a user's home are not included.
func (p *planner) allPrograms() {
	for _, dir := range programDirs {
		p.system(dir, true)
		p.mayStart(realPath(dir))
	}
	for _, dir := range libraryDirs {
		p.mayStart(realPath(dir))
	}
}

// system mounts a file or directory of the system, read-only. A link is recreated as a link.
func (p *planner) system(path string, exec bool) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
	case info.Mode()&os.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err == nil {
			p.add("", jail.Mount{Kind: jail.Link, Source: target, Target: path})
		}
	default:
		p.add(BecauseSystem, jail.Mount{Kind: jail.Bind, Source: path, Target: path, Exec: exec, Missing: true})
	}
}

// provideNameFiles provides the files in which programs look up users and hosts. Users and groups
// are always made up. Hosts are made up too, unless the plugin has the host's network.
func (p *planner) provideNameFiles() {
	uid, gid := os.Geteuid(), os.Getegid()
	home := program.Getenv(p.plan.Env, "HOME")
	if home == "" {
		home = "/"
	}
	user, group := "user", "user"
	if uid == 0 {
		user = "root"
	}
	if gid == 0 {
		group = "root"
	}
	file := func(path, content string) { p.add("", jail.Mount{Kind: jail.File, Target: path, Content: content}) }
	file("/etc/passwd", fmt.Sprintf("%s:x:%d:%d::%s:/bin/sh\n", user, uid, gid, home))
	file("/etc/group", fmt.Sprintf("%s:x:%d:\n", group, gid))
	file("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n")
	if p.plan.Net.Shared {
		for _, name := range []string{"/etc/resolv.conf", "/etc/hosts", "/etc/host.conf"} {
			p.add("the host's network", jail.Mount{Kind: jail.Bind, Source: name, Target: name, Missing: true})
		}
		return
	}
	file("/etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n")
	file("/etc/resolv.conf", "nameserver 127.0.0.1\noptions timeout:2 attempts:1\n")
}
