package sandbox

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugtest/soak"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// mostMemory bounds the memory that a start may cost the host. A normal start takes less than 1
// MiB.
const mostMemory = 64 << 20

// startsInTime tries to start a plugin. The start may fail, but the host must not hang.
func (h secretHome) startsInTime(s proc.Spec) error {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	done := make(chan error, 1)
	g := proc.NewGroup(nil)
	go func() {
		_, err := g.Run(ctx, s, proc.Call{})
		done <- errors.Join(err, g.Close())
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(2 * patience):
		h.t.Error("the host still waits")
		return nil
	}
}

// TestOddFilesDoNotHoldTheHost: a file that cannot be read to its end, or at all, neither blocks
// the host nor keeps it busy.
func TestOddFilesDoNotHoldTheHost(t *testing.T) {
	needNamespaces(t)
	fifo := func(name string) func(h secretHome) {
		return func(h secretHome) {
			if err := syscall.Mkfifo(filepath.Join(h.own, name), 0o755); err != nil {
				h.t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		ship  func(h secretHome)
		grant string
	}{
		{"a named pipe as its program", nil, fifo("run"), "net:[]"},
		{"a named pipe as an interpreter", map[string]string{"run": "#!OWN/pipe\n"}, fifo("pipe"), "net:[]"},
		{"a named pipe as a loader", map[string]string{"run": "ELF OWN/pipe"}, fifo("pipe"), "net:[]"},
		{"a named pipe that exec: names", map[string]string{"run": "#!/bin/sh\n"}, fifo("pipe"), "exec:pipe:OWN/pipe"},
		{"a named pipe that env finds", map[string]string{"run": "#!/usr/bin/env -S PATH=OWN:/bin pipe\n"}, fifo("pipe"), "net:[]"},
		{"a terabyte of zeros as its program", nil, func(h secretHome) { h.sparse("run", nil) }, "net:[]"},
		{"an ELF program with endless names", nil, func(h secretHome) { h.sparse("run", elfSections(2, 1<<27)) }, "net:[]"},
		{"an ELF program with endless sections", nil, func(h secretHome) { h.sparse("run", elfSections(0, 1<<21)) }, "net:[]"},
		{"an ELF program with too many program headers", nil, func(h secretHome) { h.sparse("run", elfHeaders(1<<13-1, 1<<14)) }, "net:[]"},
	} {
		for system, s := range map[string]*System{"with namespaces": nil, "by Landlock alone": needSimple(t)} {
			t.Run(system+"/"+c.name, func(t *testing.T) {
				h := newSecretHome(t, outsideTmp(t))
				h.ship(c.files)
				c.ship(h)
				o := Options{Own: []string{h.own}, Environ: []string{testPath}, Grants: grants(t, h.expand(c.grant)), System: s}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				t.Log(h.startsInTime(proc.Spec{Path: h.own + "/run", Dir: h.own, Env: []string{testPath}, Box: New(o)}))
				runtime.ReadMemStats(&after)
				if took := after.TotalAlloc - before.TotalAlloc; took > mostMemory {
					t.Errorf("the host took %d MiB for it", took>>20)
				}
			})
		}
	}
}

// sparse creates a file of a terabyte that begins with some bytes.
func (h secretHome) sparse(name string, head []byte) {
	h.t.Helper()
	path := filepath.Join(h.own, name)
	write(h.t, path, string(head), 0o755)
	if err := os.Truncate(path, 1<<40); err != nil {
		h.t.Skipf("no sparse files here: %v", err)
	}
}

// elfSections returns the head of an ELF file with count sections. The second one has the given
// size and the names of the sections. If count is 0, size is the number of sections.
func elfSections(count uint16, size uint64) []byte {
	const headerSize, sectionSize = 64, 64
	b := make([]byte, headerSize+2*sectionSize)
	copy(b, "\x7fELF\x02\x01\x01")
	le := binary.LittleEndian
	le.PutUint16(b[16:], 2)  // an executable
	le.PutUint16(b[18:], 62) // for amd64
	le.PutUint32(b[20:], 1)
	le.PutUint64(b[40:], headerSize) // e_shoff
	le.PutUint16(b[52:], headerSize)
	le.PutUint16(b[54:], 56)
	le.PutUint16(b[58:], sectionSize)
	le.PutUint16(b[60:], count)
	section := b[headerSize:]
	if count == 0 {
		le.PutUint64(section[32:], size)
		return b
	}
	le.PutUint16(b[62:], 1)
	section = section[sectionSize:]
	le.PutUint32(section[4:], 3) // SHT_STRTAB
	le.PutUint64(section[24:], headerSize)
	le.PutUint64(section[32:], size)
	return b
}

// elfHeaders returns the head of an ELF file with count program headers of size bytes.
func elfHeaders(count, size uint16) []byte {
	b := elfSections(0, 0)
	clear(b[40:48])
	le := binary.LittleEndian
	le.PutUint64(b[32:], 64)
	le.PutUint16(b[54:], size)
	le.PutUint16(b[56:], count)
	return b
}

// TestTheListOfTreesIsWhole: the list of trees contains everything that is mounted inside, or
// without namespaces everything that may be used.
func TestTheListOfTreesIsWhole(t *testing.T) {
	needNamespaces(t)
	dir, below := outsideTmp(t), t.TempDir()
	guarded := append(ownHome(t, dir), ownHome(t, below)...)
	write(t, dir+"/.local/share/plugins/p/file", "file", 0o644)
	for name, texts := range map[string][]string{"nothing": nil, "reading": {"read:fs:" + dir}, "writing": {"write:fs:" + dir}, "below /tmp": {"read:fs:" + below}, "writing below /tmp": {"write:fs:" + below},
		"a program": {"exec:sh:/bin/sh"}, "the network": {"net:*"}} {
		t.Run(name, func(t *testing.T) {
			var trees []Tree
			o := Options{Own: []string{"/var/lib/dpkg"}, Guarded: guarded, Grants: grants(t, texts...), AnyProgram: true, OnPlan: func(list []Tree) { trees = list }}
			for _, at := range strings.Fields(output(t, sh(o, "while read a b c d at rest; do echo $at; done </proc/self/mountinfo"))) {
				at = strings.TrimPrefix(at, "/outside")
				known := func(tree Tree) bool { return within(at, tree.Path) }
				made := []string{"/", "/proc/keys", "/proc/key-users", dir + "/.config/patchbay", below + "/.config/patchbay"}
				if !slices.ContainsFunc(trees, known) && !slices.Contains(made, at) {
					t.Errorf("%s is mounted, but not in the list", at)
				}
			}
		})
	}
	t.Run("by Landlock alone", func(t *testing.T) {
		var trees []Tree
		o := Options{System: needSimple(t), Grants: grants(t, "read:fs:"+dir+"/.config/other"), AnyProgram: true, OnPlan: func(list []Tree) { trees = list }}
		s := sh(o, "for f in /etc/passwd /etc/hosts $HOME/x /proc/1/stat /tmp /var/tmp /dev/shm; do ls $f >/dev/null 2>&1 && echo $f; done; echo x >$HOME/x && echo $HOME")
		for _, path := range strings.Fields(output(t, s)) {
			known := func(tree Tree) bool { return within(path, tree.Path) }
			if !slices.ContainsFunc(trees, known) {
				t.Errorf("%s is visible, but not in the list", path)
			}
		}
		if i := slices.IndexFunc(trees, func(tree Tree) bool { return tree.Because == BecauseMemory }); i >= 0 {
			t.Errorf("%v is in the list, but not visible", trees[i])
		}
	})
}

// TestDeepDirectoriesOfAPlugin: files that a plugin leaves in its directory on disk are removed at
// any depth, without using up the host's descriptors. The targets of links stay.
func TestDeepDirectoriesOfAPlugin(t *testing.T) {
	outside, private := t.TempDir(), t.TempDir()+"/private"
	write(t, outside+"/kept", "kept", 0o600)
	deepTree(t, private, 3000, outside)
	var most atomic.Int64
	stop, counting := make(chan bool), sync.WaitGroup{}
	counting.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Microsecond):
				open, _ := os.ReadDir("/proc/self/fd")
				most.Store(max(most.Load(), int64(len(open))))
			}
		}
	})
	s := &session{box: New(Options{}), private: private}
	s.close()
	close(stop)
	counting.Wait()
	if _, err := os.Lstat(private); err == nil {
		t.Error("the directory is left")
	}
	if _, err := os.Stat(outside + "/kept"); err != nil {
		t.Error(err)
	}
	if most.Load() > 500 {
		t.Errorf("the host had %d descriptors open", most.Load())
	}
}

// deepTree creates nested directories, with files, links, and entries with numbers as names beside
// them.
func deepTree(t *testing.T, path string, depth int, target string) {
	t.Helper()
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	at, err := os.OpenRoot(path)
	for n := range depth {
		if err == nil {
			err = errors.Join(at.Mkdir("d", 0o700), at.Mkdir(fmt.Sprint(n), 0o700), at.WriteFile("f", nil, 0o600), at.Symlink(target, "link"))
		}
		if err != nil {
			t.Fatal(err)
		}
		inner, openErr := at.OpenRoot("d")
		err = errors.Join(openErr, at.Close())
		at = inner
	}
	if err := errors.Join(err, at.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestRacesWithTheNextStart: a process of the plugin repeatedly swaps directories for links. A
// process that is started meanwhile sees nothing that was not granted, and nothing is created
// outside.
func TestRacesWithTheNextStart(t *testing.T) {
	needNamespaces(t)
	python := tool(t, "python3")
	for name, system := range map[string]*System{"with namespaces": nil, "by Landlock alone": needSimple(t)} {
		t.Run(name, func(t *testing.T) {
			h := newSecretHome(t, outsideTmp(t))
			write(t, h.home+"/desk/a/note", "note", 0o644)
			o := Options{Own: []string{h.own}, System: system, AnyProgram: true, Environ: []string{testPath, "HOME=" + h.home},
				Grants: grants(t, h.expand("write:fs:HOME/desk"), h.expand("read:fs:HOME/desk/a"), h.expand("read:fs:HOME/desk/a/key"), h.expand("write:fs:HOME/desk/a/made.db"))}
			swap := sh(o, "")
			swap.Path, swap.Args = python, []string{"-c", h.expand(`import os
os.chdir("HOME/desk")
print("up", flush=True)
while True:
    os.rename("a", "b"); os.symlink("SECRET", "a"); os.unlink("a"); os.rename("b", "a")`)}
			g := newGroup(t)
			started(t, g, swap)
			look := sh(o, h.expand("cat SECRET/key SECRET/lib/key HOME/desk/a/key 2>/dev/null; :"))
			ran, tries := 0, soak.Times(15, 60)
			for range tries {
				r, err := g.Run(t.Context(), look, proc.Call{})
				if err == nil {
					ran++
				}
				if r != nil && strings.Contains(string(r.Stdout), secretText) {
					t.Fatalf("the plugin has the secret: %s", r.Stdout)
				}
			}
			if _, err := os.Lstat(h.secret + "/made.db"); err == nil {
				t.Error("something was created outside")
			}
			t.Logf("%d of %d started", ran, tries)
		})
	}
}

// TestTheHostsProcessesCannotBeGranted: /proc is the plugin's own, whatever is granted there.
func TestTheHostsProcessesCannotBeGranted(t *testing.T) {
	needNamespaces(t)
	for _, grant := range []string{"read:fs:/proc", "read:fs:/proc/self", "read:fs:/proc/1", "read:fs:/proc/self/environ", "read:fs:/proc/cmdline", "read:fs:/proc/mounts"} {
		t.Run(grant, func(t *testing.T) {
			s := sh(Options{Grants: grants(t, grant), AnyProgram: true}, fmt.Sprintf("[ -e /proc/%d ] && echo sees the host; cat /proc/cmdline; read -r name </proc/1/comm; [ \"$name\" = \"$INIT\" ] && echo sees init; echo ran", os.Getpid()))
			comm, err := os.ReadFile("/proc/1/comm")
			if err != nil {
				t.Fatal(err)
			}
			s.Env = []string{testPath, "INIT=" + strings.TrimSpace(string(comm))}
			expect(t, s, "ran")
		})
	}
	for _, grant := range []string{"write:fs:/proc", "write:fs:/proc/self/oom_score_adj", "write:fs:/proc/sys"} {
		for name, system := range map[string]*System{"with namespaces": nil, "by Landlock alone": needSimple(t)} {
			t.Run(name+"/"+grant, func(t *testing.T) {
				if err := startError(t, sh(Options{Grants: grants(t, grant), System: system}, ":")); !strings.Contains(err.Error(), "a plugin's /proc is its own") {
					t.Error(err)
				}
			})
		}
	}
	t.Run("an agent", func(t *testing.T) {
		if err := startError(t, sh(Options{ReadAll: true, Grants: grants(t, "write:fs:/proc/sys")}, ":")); !strings.Contains(err.Error(), "a plugin's /proc is its own") {
			t.Error(err)
		}
	})
}

// TestAGrantThatLeadsThroughProc: a grant through a link in /proc is refused, because its target
// depends on the process that follows it.
func TestAGrantThatLeadsThroughProc(t *testing.T) {
	needNamespaces(t)
	for _, grant := range []string{"read:fs:/proc/self/cwd", "read:fs:/proc/self/root", "write:fs:/proc/self/cwd", "read:fs:/proc/self/root/etc/ssl"} {
		t.Run(grant, func(t *testing.T) {
			if err := startError(t, sh(Options{Grants: grants(t, grant)}, ":")); !strings.Contains(err.Error(), "leads through /proc") {
				t.Error(err)
			}
		})
	}
}
