package sandbox

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/proc"
)

// manyLinks ships a chain of more links than are followed, from first to target.
func (h hideout) manyLinks(first, target string) {
	h.t.Helper()
	const links = maxLinks + 5
	at := filepath.Join(h.own, first)
	for i := range links {
		to := fmt.Sprintf("%s/chain-%s-%d", h.own, first, i)
		if i == links-1 {
			to = target
		}
		link(h.t, to, at)
		at = to
	}
}

// TestLinksWithoutEnd: where a way has more links than the kernel follows, nothing at its end is granted.
func TestLinksWithoutEnd(t *testing.T) {
	needNamespaces(t)
	for name, system := range map[string]*System{"with namespaces": nil, "by Landlock alone": needSimple(t)} {
		for _, kind := range []string{"read:fs:OWN/data", "write:fs:OWN/data", "read:fs:OWN/data/key", "exec:data:OWN/data"} {
			for _, target := range []string{"SECRET", "SECRET/key", "SECRET/run"} {
				t.Run(name+"/"+kind+"/"+target, func(t *testing.T) {
					h := newHideout(t, outsideTmp(t))
					h.manyLinks("data", h.expand(target))
					h.hold(shipment{command: []string{"/bin/sh", "-c", "for f in OWN/data OWN/data/key OWN/chain* SECRET/key SECRET/run; do read -r line <$f && echo $line; done; echo x >SECRET/new"},
						grants: []string{kind}}, system)
					if _, err := os.Stat(h.secret + "/new"); err == nil {
						t.Error("it made a file outside")
					}
				})
			}
		}
	}
}

// TestGrantsOfItsOwnMakeNothingOutside: a grant that leaves the plugin's files by a shipped link makes nothing where it leads.
func TestGrantsOfItsOwnMakeNothingOutside(t *testing.T) {
	needNamespaces(t)
	for _, grant := range []string{"write:fs:OWN/up/made", "write:fs:OWN/up/made.toml", "write:fs:OWN/direct"} {
		t.Run(grant, func(t *testing.T) {
			h := newHideout(t, outsideTmp(t))
			h.ship(map[string]string{"up": "-> SECRET", "direct": "-> SECRET/made"})
			h.hold(shipment{command: []string{"/bin/true"}, grants: []string{grant}, refusal: "among the plugin's own files"}, nil)
			for _, name := range []string{"/made", "/made.toml"} {
				if _, err := os.Lstat(h.secret + name); err == nil {
					t.Errorf("%s was made", name)
				}
			}
		})
	}
}

// TestLibrariesBesideAnotherLink: a program that exec: names brings the libraries beside it, not those beside any link of the operator's that leads to it.
func TestLibrariesBesideAnotherLink(t *testing.T) {
	needNamespaces(t)
	for _, c := range []shipment{
		{name: "named by its command", command: []string{"SECRET/bin/linked", "-c", "OWN/env SECRET/lib/key"}},
		{name: "named by a #! line", files: map[string]string{"run": "#!SECRET/bin/linked\nOWN/env SECRET/lib/key\n"}},
		{name: "named by a shipped link", files: map[string]string{"run": "#!OWN/sh\nOWN/env SECRET/lib/key\n", "sh": "-> SECRET/bin/linked"}},
		{name: "found by env", files: map[string]string{"run": "#!/usr/bin/env -S PATH=SECRET/bin linked\nOWN/env SECRET/lib/key\n"}},
	} {
		for system, s := range map[string]*System{"with namespaces": nil, "by Landlock alone": needSimple(t)} {
			t.Run(system+"/"+c.name, func(t *testing.T) {
				h := newHideout(t, outsideTmp(t))
				c.grants = []string{"exec:sh:/bin/sh", "exec:env:/usr/bin/env"}
				h.hold(c, s)
			})
		}
	}
}

// TestPathThroughALinkOfThePlugin: a directory of the operator's PATH that is found by a link which the plugin ships or may change does not count.
func TestPathThroughALinkOfThePlugin(t *testing.T) {
	needNamespaces(t)
	for name, entry := range map[string]string{"shipped": "OWN/bin", "that it may change": "OWN/cache/bin"} {
		for system, s := range map[string]*System{"with namespaces": nil, "by Landlock alone": needSimple(t)} {
			t.Run(system+"/"+name, func(t *testing.T) {
				h := newHideout(t, outsideTmp(t))
				h.ship(map[string]string{"bin": "-> SECRET/bin", "cache/bin": "-> SECRET/bin", "run": "#!SECRET/bin/tool\n"})
				o := Options{Own: []string{h.own}, Grants: grants(t, h.expand("write:fs:OWN/cache")), Environ: []string{"PATH=" + h.expand(entry) + ":/usr/bin:/bin", "HOME=" + h.home}, System: s}
				r, err := newGroup(t).Run(t.Context(), proc.Spec{Path: h.own + "/run", Dir: h.own, Env: o.Environ, Box: New(o)}, proc.Call{})
				if err == nil || !strings.Contains(err.Error(), `add "exec:tool:`+h.secret) {
					t.Errorf("%v, %+v", err, r)
				}
			})
		}
	}
}

// mostMemory is what a start may cost the host; one takes less than 1 MiB.
const mostMemory = 64 << 20

// startsInTime starts a plugin, or not: the host must not hang.
func (h hideout) startsInTime(s proc.Spec) error {
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
		h.t.Error("the host hangs")
		return nil
	}
}

// TestOddFilesDoNotHoldTheHost: a file that cannot be read to its end, or at all, keeps the host neither waiting nor busy.
func TestOddFilesDoNotHoldTheHost(t *testing.T) {
	needNamespaces(t)
	fifo := func(name string) func(h hideout) {
		return func(h hideout) {
			if err := syscall.Mkfifo(filepath.Join(h.own, name), 0o755); err != nil {
				h.t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		ship  func(h hideout)
		grant string
	}{
		{"a named pipe as its program", nil, fifo("run"), "net:[]"},
		{"a named pipe as an interpreter", map[string]string{"run": "#!OWN/pipe\n"}, fifo("pipe"), "net:[]"},
		{"a named pipe as a loader", map[string]string{"run": "ELF OWN/pipe"}, fifo("pipe"), "net:[]"},
		{"a named pipe that exec: names", map[string]string{"run": "#!/bin/sh\n"}, fifo("pipe"), "exec:pipe:OWN/pipe"},
		{"a named pipe that env finds", map[string]string{"run": "#!/usr/bin/env -S PATH=OWN:/bin pipe\n"}, fifo("pipe"), "net:[]"},
		{"a terabyte of nothing as its program", nil, func(h hideout) { h.sparse("run", nil) }, "net:[]"},
		{"an ELF program with names without end", nil, func(h hideout) { h.sparse("run", elfSections(2, 1<<27)) }, "net:[]"},
		{"an ELF program with sections without end", nil, func(h hideout) { h.sparse("run", elfSections(0, 1<<21)) }, "net:[]"},
		{"an ELF program with too many program headers", nil, func(h hideout) { h.sparse("run", elfHeaders(1<<13-1, 1<<14)) }, "net:[]"},
	} {
		for system, s := range map[string]*System{"with namespaces": nil, "by Landlock alone": needSimple(t)} {
			t.Run(system+"/"+c.name, func(t *testing.T) {
				h := newHideout(t, outsideTmp(t))
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

// sparse makes a file of a terabyte that begins with some bytes.
func (h hideout) sparse(name string, head []byte) {
	h.t.Helper()
	path := filepath.Join(h.own, name)
	write(h.t, path, string(head), 0o755)
	if err := os.Truncate(path, 1<<40); err != nil {
		h.t.Skipf("no sparse files here: %v", err)
	}
}

// elfSections is the head of an ELF file that has so many sections, the second of which is so large and has their names. Where there is none, the size
// is how many there are.
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

// elfHeaders is the head of one that has so many program headers of so many bytes.
func elfHeaders(count, size uint16) []byte {
	b := elfSections(0, 0)
	clear(b[40:48])
	le := binary.LittleEndian
	le.PutUint64(b[32:], 64)
	le.PutUint16(b[54:], size)
	le.PutUint16(b[56:], count)
	return b
}
