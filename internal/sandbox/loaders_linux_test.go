package sandbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// theLoader returns the loader of a shell.
func theLoader(t *testing.T) string {
	t.Helper()
	loader := program.Loader("/bin/sh")
	if loader == "" {
		t.Skip("the shell has no loader here")
	}
	return loader
}

// elfProgram returns a file that names a loader and cannot do anything else.
func elfProgram(loader string) string {
	le, name := binary.LittleEndian, loader+"\x00"
	elf := []byte{0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	elf = le.AppendUint16(le.AppendUint16(elf, 2), 62)                      // an executable, for x86-64
	elf = le.AppendUint64(le.AppendUint64(le.AppendUint32(elf, 1), 0), 64)  // no entry; where the program header is
	elf = append(elf, make([]byte, 12)...)                                  // no sections, no flags
	elf = le.AppendUint16(le.AppendUint16(le.AppendUint16(elf, 64), 56), 1) // sizes, and one program header
	elf = append(elf, make([]byte, 6)...)                                   // no sections
	elf = le.AppendUint32(le.AppendUint32(elf, 3), 4)                       // PT_INTERP, readable
	for _, n := range []uint64{64 + 56, 0, 0, uint64(len(name)), uint64(len(name)), 1} {
		elf = le.AppendUint64(elf, n)
	}
	return string(elf) + name
}

func TestPlanLoaders(t *testing.T) {
	needLandlock(t)
	loader := theLoader(t)
	dir := t.TempDir()
	write(t, dir+"/one.so", strings.Repeat("1", 100), 0o755)
	write(t, dir+"/same.so", strings.Repeat("1", 200), 0o755)
	write(t, dir+"/two.so", strings.Repeat("2", 100), 0o755)
	write(t, dir+"/short.so", "short", 0o755)
	write(t, dir+"/lib/own.so", strings.Repeat("3", 100), 0o755)
	for _, name := range []string{"one", "same", "two", "short", "none"} {
		write(t, dir+"/by-"+name, elfProgram(dir+"/"+name+".so"), 0o755)
	}
	write(t, dir+"/lib/by-own", elfProgram(dir+"/lib/own.so"), 0o755)
	write(t, dir+"/script", "#!"+dir+"/one.so\n", 0o755)
	link(t, loader, dir+"/linked.so")
	copyFile(t, loader, dir+"/copied.so")
	exec := func(names ...string) Options {
		o := Options{Environ: []string{"PATH=" + dir}}
		for _, name := range names {
			o.Grants = append(o.Grants, grants(t, "exec:x:"+dir+"/"+name)...)
		}
		return o
	}
	sh, one, two := head(loader), head(dir+"/one.so"), head(dir+"/two.so")
	for _, c := range []struct {
		rule string
		o    Options
		want [][]byte
	}{
		{"the loader of the program is barred", Options{}, [][]byte{sh}},
		{"the loaders of granted programs are barred", exec("by-one", "by-two"), [][]byte{one, two, sh}},
		{"two loaders with the same first bytes are barred together", exec("by-one", "by-same"), [][]byte{one, sh}},
		{"a loader without an ELF header is not barred", exec("by-short", "by-none"), [][]byte{sh}},
		{"a loader that is granted as a program is not barred", exec("by-one", "one.so"), [][]byte{sh}},
		{"a loader that is granted by a link is not barred", exec("linked.so"), nil},
		{"a loader with the same header as a program is not barred", exec("copied.so"), nil},
		{"a loader that is the interpreter of a script is not barred", exec("by-one", "script"), [][]byte{sh}},
		{"a loader among the plugin's own files is not barred", Options{Own: []string{dir + "/lib"}, Grants: grants(t, "exec:x:"+dir+"/lib/by-own")}, [][]byte{sh}},
		{"if every program may be started, no loader is barred", Options{AnyProgram: true}, nil},
		{"if everything may be executed, no loader is barred", Options{ReadAll: true}, nil},
		{"without namespaces no loader is barred", Options{System: &System{Namespaces: errors.New("none")}}, nil},
		{"if the kernel cannot do it, no loader is barred", Options{System: &System{Loader: errors.New("no")}}, nil},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if got := planned(c.o).Loaders; !bytes.Equal(bytes.Join(got, nil), bytes.Join(c.want, nil)) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestTheLoader: the loader loads programs, and cannot be started directly unless it is granted.
func TestTheLoader(t *testing.T) {
	needNamespaces(t)
	needLandlock(t)
	if err := here().Loader; err != nil {
		t.Skip(err)
	}
	loader, ls := theLoader(t), tool(t, "ls")
	for rule, c := range map[string]struct {
		o    Options
		want string
	}{
		"it cannot be started directly":            {Options{}, "done"},
		"not even if other programs are granted":   {Options{Grants: grants(t, "exec:ls:"+ls)}, "ls\ndone"},
		"it can if it is granted":                  {Options{Grants: grants(t, "exec:ld:"+loader)}, "loader\ndone"},
		"it can if every program may be started":   {Options{AnyProgram: true}, "loader\nls\ndone"},
		"it can if everything may be executed":     {Options{ReadAll: true}, "loader\nls\ndone"},
		"it can if the kernel does not support it": {Options{System: &System{Loader: errors.New("no")}}, "loader\ndone"},
	} {
		t.Run(rule, func(t *testing.T) {
			expect(t, sh(c.o, loader+" --version >/dev/null 2>&1 && echo loader; "+ls+" / >/dev/null 2>&1 && echo ls; echo done"), c.want)
		})
	}
	t.Run("a plugin that is a loader", func(t *testing.T) {
		s := sh(Options{}, "")
		s.Path, s.Args = loader, []string{"--version"}
		if r := run(t, s); r.Exit != (proc.Exit{}) || len(r.Stdout) == 0 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("a copy among its own files cannot be started, unless it is granted", func(t *testing.T) {
		own := t.TempDir()
		copyFile(t, loader, own+"/ld.so")
		o := Options{Own: []string{own}}
		try := own + "/ld.so --version >/dev/null 2>&1 && echo copy; echo done"
		expect(t, sh(o, try), "done")
		o.Grants = grants(t, "exec:ld:"+own+"/ld.so")
		expect(t, sh(o, try), "copy\ndone")
	})
	t.Run("the program keeps its uid", func(t *testing.T) {
		s := sh(Options{Grants: grants(t, "exec:id:"+tool(t, "id"))}, tool(t, "id")+" -u; "+tool(t, "id")+" -g")
		expect(t, s, fmt.Sprintf("%d\n%d", os.Geteuid(), os.Getegid()))
	})
}
