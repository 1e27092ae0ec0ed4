//go:build linux

package program

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestStartErrors: each subtest creates a file that does not start, starts it, and checks the
// error.
func TestStartErrors(t *testing.T) {
	for _, test := range []struct {
		name      string
		make      func(t *testing.T, path string)
		why, fix  string // PATH stands for the file
		underlies error
	}{
		{"missing", func(*testing.T, string) {}, "no such file", "reinstall the plugin", syscall.ENOENT},
		{"a dangling link", link("/nonexistent/x"), "is a link to /nonexistent/x, which does not exist", "reinstall the plugin", syscall.ENOENT},
		{"a directory", directory, "is a directory", "name the program inside it", syscall.EACCES},
		{"not a file", fifo, "is not a regular file", "reinstall the plugin", syscall.EACCES},
		{"not executable", withText("#!/bin/sh\n", 0o644), "is not executable", "chmod +x PATH", syscall.EACCES},
		{"empty", withText("", 0o755), "is an empty file", "reinstall the plugin", syscall.ENOEXEC},
		{"no #! line", withText("echo hello\n", 0o755), "is neither a program nor a script: it has no #! line", "begin the file with a line like #!/bin/sh", syscall.ENOEXEC},
		{"no interpreter in the #! line", withText("#!\n", 0o755), "its #! line names no interpreter", "begin the file with a line like #!/bin/sh", syscall.ENOEXEC},
		{"a missing interpreter", withText("#!/opt/none/ruby\n", 0o755), "its interpreter /opt/none/ruby does not exist", "install it, or change the #! line", syscall.ENOENT},
		{"an interpreter that is not a program", withText("#!/proc/self/status\n", 0o755), "its interpreter /proc/self/status is not executable", "chmod +x /proc/self/status", syscall.EACCES},
		{"a carriage return after the interpreter", withText("#!/bin/sh\r\necho\r\n", 0o755), "its #! line ends in a carriage return: the file has Windows line ends", `sed -i 's/\r$//' PATH`, syscall.ENOENT},
		{"a byte order mark", withText("\xef\xbb\xbf#!/bin/sh\n", 0o755), "a byte order mark precedes its #! line", `sed -i '1s/^\xef\xbb\xbf//' PATH`, syscall.ENOEXEC},
		{"another architecture", elfFile(elf.EM_S390, ""), "is a program for S390, this machine is linux/" + runtime.GOARCH, "install the plugin's build for linux/" + runtime.GOARCH, syscall.ENOEXEC},
		{"a program for macOS", withText("\xcf\xfa\xed\xfe rest", 0o755), "is a program for darwin, this machine is linux/" + runtime.GOARCH, "install the plugin's build for linux/" + runtime.GOARCH, syscall.ENOEXEC},
		{"a program for Windows", withText("MZ rest", 0o755), "is a program for windows, this machine is linux/" + runtime.GOARCH, "install the plugin's build for linux/" + runtime.GOARCH, syscall.ENOEXEC},
		{"musl's loader missing", elfFile(ownMachine(t), "/lib/ld-musl-none.so.1"), "needs the loader /lib/ld-musl-none.so.1 of musl libc, which does not exist here", "install musl, or a build for glibc", syscall.ENOENT},
		{"another loader missing", elfFile(ownMachine(t), "/lib9/ld-none.so.2"), "needs the loader /lib9/ld-none.so.2, which does not exist here (a system with musl libc cannot run programs for glibc)", "install a static build, or one for this system's C library", syscall.ENOENT},
		{"a damaged program", withText(elf.ELFMAG+"\x02\x01\x01 and no more", 0o755), "is a damaged program: EOF", "reinstall the plugin", syscall.ENOEXEC},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "plug")
			test.make(t, path)
			se := startFails(t, path)
			if !errors.Is(se, test.underlies) {
				t.Fatalf("%v", se.Err)
			}
			if fix := strings.ReplaceAll(test.fix, "PATH", path); se.Path != path || se.Why != test.why || se.Fix != fix {
				t.Errorf("why %q, fix %q", se.Why, se.Fix)
			}
		})
	}
}

// TestDiagnoseThroughEnv: these scripts start, and env fails with exit code 127 and its own
// message.
func TestDiagnoseThroughEnv(t *testing.T) {
	for line, why := range map[string]string{
		"#!/usr/bin/env nonesuch\n":    "its interpreter nonesuch is not in the PATH /usr/bin:/bin",
		"#!/usr/bin/env sh -e\n":       "the kernel passes all words after env in its #! line as one",
		"#!/usr/bin/env sh\r\n":        "its #! line ends in a carriage return: the file has Windows line ends",
		"#!/usr/bin/env -S none -u\n":  "its interpreter none is not in the PATH /usr/bin:/bin",
		"#!/usr/bin/env sh\necho fine": "no reason is visible",
	} {
		path := filepath.Join(t.TempDir(), "plug")
		writeFile(t, path, line, 0o755)
		if got := Diagnose(path, []string{"PATH=/usr/bin:/bin"}, nil); got.Why != why {
			t.Errorf("%q: %q", line, got.Why)
		}
	}
}

// TestUninterpreted: a problem that is visible before the start is reported before it. A file that
// is not text may be a program that only the kernel recognises.
func TestUninterpreted(t *testing.T) {
	for text, why := range map[string]string{
		"":                          "is an empty file",
		"echo hello\n":              "is neither a program nor a script: it has no #! line",
		"\xef\xbb\xbf#!/bin/sh\n":   "a byte order mark precedes its #! line",
		"#!/opt/none/ruby\n":        "its interpreter /opt/none/ruby does not exist",
		"#!/bin/sh\necho fine\n":    "",
		"\x00asm\x01\x00\x00\x00":   "",
		elf.ELFMAG + "\x02\x01\x01": "",
	} {
		path := filepath.Join(t.TempDir(), "plug")
		writeFile(t, path, text, 0o755)
		got := ""
		if e := Uninterpreted(path, []string{"PATH=/usr/bin:/bin"}); e != nil {
			got = e.Why
		}
		if got != why {
			t.Errorf("%q: %q, want %q", text, got, why)
		}
	}
}

func TestDiagnoseNoexec(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", unix.MS_NOEXEC, "size=64k"); err != nil {
		t.Skip("cannot mount:", err)
	}
	defer func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "sub", "plug")
	writeFile(t, path, "#!/bin/sh\n", 0o755)
	if se := startFails(t, path); se.Why != "is on a file system that is mounted noexec: "+dir || !strings.HasSuffix(se.Fix, "mount -o remount,exec "+dir) {
		t.Errorf("%v", se)
	}
}

// TestDiagnosePermissions: root may enter and execute everything, so these run as nobody.
func TestDiagnosePermissions(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to become nobody")
	}
	dir, err := os.MkdirTemp("", "proc-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	self := filepath.Join(dir, "self")
	copyFile(t, "/proc/self/exe", self)
	closed := filepath.Join(dir, "closed")
	if err := os.MkdirAll(filepath.Join(closed, "deeper"), 0o700); err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(dir, "mine")
	writeFile(t, mine, "#!/bin/sh\n", 0o744)
	for path, want := range map[string]string{
		filepath.Join(closed, "deeper", "plug"): "no permission to enter " + closed + "|chmod +x " + closed,
		mine:                                    "is not executable for this user|chmod +x " + mine,
	} {
		cmd := exec.Command(self, "-diagnose", path)
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("%q, want %q, %v", out, want, err)
		}
	}
}

func TestQuote(t *testing.T) {
	for path, want := range map[string]string{
		"/usr/bin/x-1.2_a+b": "/usr/bin/x-1.2_a+b",
		"/a b":               "'/a b'",
		"/it's":              `'/it'\''s'`,
		"/a;rm":              "'/a;rm'",
		"/a b/c":             "'/a b/c'",
		"":                   "''",
		"kaged:notes":        "kaged:notes",
		"naïve":              "naïve",
		"$(x)":               "'$(x)'",
		"a`b":                "'a`b'",
	} {
		if got := Quote(path); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// startFails starts a program, which must fail, and returns the explanation.
func startFails(t *testing.T, path string) *StartError {
	t.Helper()
	p, err := os.StartProcess(path, []string{path}, &os.ProcAttr{Env: []string{}})
	if err == nil {
		_ = p.Kill()
		_, _ = p.Wait()
		t.Fatal("a program that must fail started")
	}
	return Explain(path, "", nil, err)
}

func withText(text string, mode os.FileMode) func(*testing.T, string) {
	return func(t *testing.T, path string) { writeFile(t, path, text, mode) }
}

func link(target string) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
	}
}

func directory(t *testing.T, path string) {
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func fifo(t *testing.T, path string) {
	if err := unix.Mkfifo(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

// elfFile creates the smallest ELF file that the kernel accepts as a program: a header, and a
// segment that names a loader.
func elfFile(machine elf.Machine, loader string) func(*testing.T, string) {
	const headerSize, segmentSize = 64, 56
	h := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: 1, Entry: 0x400000,
		Phoff: headerSize, Ehsize: headerSize, Phentsize: segmentSize, Phnum: 1, Shentsize: 64,
	}
	copy(h.Ident[:], elf.ELFMAG+"\x02\x01\x01")
	name := loader + "\x00"
	segment := elf.Prog64{Type: uint32(elf.PT_INTERP), Off: headerSize + segmentSize, Filesz: uint64(len(name)), Memsz: uint64(len(name)), Flags: 4, Align: 1}
	if loader == "" {
		segment.Type = uint32(elf.PT_LOAD)
	}
	text := make([]byte, 0, headerSize+segmentSize+len(name))
	text, _ = binary.Append(text, binary.LittleEndian, h)
	text, _ = binary.Append(text, binary.LittleEndian, segment)
	return withText(string(append(text, name...)), 0o755)
}

func ownMachine(t *testing.T) elf.Machine {
	self, err := elf.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	return self.Machine
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}
