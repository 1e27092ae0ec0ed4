//go:build unix

package builtin

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// link makes a symbolic link below the working directory.
func (b *bench) link(target, name string) {
	b.t.Helper()
	if err := os.Symlink(target, filepath.Join(b.dir, name)); err != nil {
		b.t.Fatal(err)
	}
}

func TestLinks(t *testing.T) {
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("secret\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, Options{})
	up, err := filepath.Rel(b.dir, outside)
	if err != nil {
		t.Fatal(err)
	}
	b.put("real/f", "inside\n")
	b.link("real", "dir")
	b.link("real/f", "file")
	b.link(secret, "out-file")
	b.link(outside, "out-dir")
	b.link(up, "out-relative")
	b.link("out-dir", "out-by-two")

	t.Run("a link that stays inside is followed", func(t *testing.T) {
		for _, path := range []string{"file", "dir/f"} {
			if got := b.ok("read_file", args{"path": path}); got != "inside\n" {
				t.Errorf("%s: %q", path, got)
			}
		}
	})
	t.Run("a link that leads out is refused by every tool", func(t *testing.T) {
		for _, path := range []string{"out-file", "out-dir/secret", "out-relative/secret", "out-by-two/secret", "out-dir/new/deep"} {
			for _, name := range []string{"read_file", "write_file", "edit_file", "list_files"} {
				r := b.fails(name, args{"path": path, "content": "x", "old": "secret", "new": "y"}, "leads outside the working directory", b.dir)
				if strings.Contains(r.Output, "secret") {
					t.Errorf("%s %s shows %q", name, path, r.Output)
				}
			}
		}
		has(t, secret, "secret\n")
		onlyThese(t, outside, "secret")
	})
	t.Run("a list shows where links lead and does not follow them", func(t *testing.T) {
		got := b.ok("list_files", args{"depth": 5})
		contains(t, got, "out-file -> "+secret, "dir -> real\n", "real/f  7 B")
		if strings.Contains(got, "dir/f") || strings.Contains(got, "out-dir/") {
			t.Error(got)
		}
	})
	t.Run("writing to a link writes to its target, and the link stays a link", func(t *testing.T) {
		b.ok("write_file", args{"path": "file", "content": "new\n"})
		has(t, filepath.Join(b.dir, "real/f"), "new\n")
		b.ok("edit_file", args{"path": "file", "old": "new", "new": "newer"})
		has(t, filepath.Join(b.dir, "real/f"), "newer\n")
		if target, err := os.Readlink(filepath.Join(b.dir, "file")); err != nil || target != "real/f" {
			t.Errorf("%q, %v", target, err)
		}
		onlyThese(t, filepath.Join(b.dir, "real"), "f")
	})
	t.Run("a link to a missing file is reported", func(t *testing.T) {
		b.link("nowhere", "dangling")
		b.fails("write_file", args{"path": "dangling", "content": "x"}, "a link to a file that does not exist")
	})
	t.Run("a working directory with two names accepts both", func(t *testing.T) {
		alias := filepath.Join(t.TempDir(), "alias")
		if err := os.Symlink(b.dir, alias); err != nil {
			t.Fatal(err)
		}
		real, err := filepath.EvalSymlinks(b.dir)
		if err != nil {
			t.Fatal(err)
		}
		through := &bench{t: t, dir: alias, tools: b.tools}
		for _, dir := range []string{alias, real} {
			through.ok("read_file", args{"path": filepath.Join(dir, "real/f")})
		}
	})
}

// TestSwapped exchanges a directory for a link that leads out, and back, again and again, while the
// tools work. Every call must have used the directory, or been refused because of the link.
func TestSwapped(t *testing.T) {
	b := newBench(t, Options{})
	outside := t.TempDir()
	b.put("d/f", "inside\n")
	if err := os.WriteFile(filepath.Join(outside, "f"), []byte("outside\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	stop, swaps := make(chan struct{}), make(chan int)
	go func() { swaps <- swap(b.dir, outside, stop) }()
	for i := range 300 {
		if r, err := b.try(t.Context(), "read_file", args{"path": "d/f"}); err != nil || r.Success && r.Output != "inside\n" {
			t.Fatalf("%d: %+v, %v", i, r, err)
		}
		if _, err := b.try(t.Context(), "write_file", args{"path": "d/f", "content": "inside\n"}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.try(t.Context(), "write_file", args{"path": "d/new/f", "content": "inside\n"}); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	if n := <-swaps; n == 0 {
		t.Error("no swap succeeded")
	}
	onlyThese(t, outside, "f")
	has(t, filepath.Join(outside, "f"), "outside\n")
}

// swap exchanges d for a link that leads out, and back, until it is stopped. It returns the number
// of swaps. A step may fail, because the tools create directories meanwhile.
func swap(dir, outside string, stop <-chan struct{}) (swaps int) {
	d, kept := filepath.Join(dir, "d"), filepath.Join(dir, "kept")
	for {
		select {
		case <-stop:
			return swaps
		default:
		}
		_ = os.Rename(d, kept)
		if os.Symlink(outside, d) == nil {
			swaps++
		}
		_ = os.RemoveAll(d) // removes only the link if d is one
		if os.Rename(kept, d) != nil {
			_ = os.RemoveAll(kept)
		}
	}
}

func TestSpecialFiles(t *testing.T) {
	b := newBench(t, Options{})
	if err := syscall.Mkfifo(filepath.Join(b.dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.link("pipe", "to-pipe")
	for _, path := range []string{"pipe", "to-pipe"} {
		for _, name := range []string{"read_file", "write_file", "edit_file"} {
			b.fails(name, args{"path": path, "content": "x", "old": "x", "new": "y"}, "is a named pipe, not a regular file")
		}
	}
	contains(t, b.ok("list_files", args{}), "pipe  (a named pipe)")
	if info, err := os.Lstat(filepath.Join(b.dir, "pipe")); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestModes(t *testing.T) {
	b := newBench(t, Options{})
	path := b.put("run.sh", "old\n")
	if err := os.Chmod(path, 0o750); err != nil {
		t.Fatal(err)
	}
	mode := func() os.FileMode {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}

	t.Run("a file keeps its mode", func(t *testing.T) {
		b.ok("write_file", args{"path": "run.sh", "content": "new\n"})
		b.ok("edit_file", args{"path": "run.sh", "old": "new", "new": "newer"})
		if mode() != 0o750 {
			t.Error(mode())
		}
	})
	t.Run("a read-only file is not written", func(t *testing.T) {
		if err := os.Chmod(path, 0o444); err != nil {
			t.Fatal(err)
		}
		b.fails("write_file", args{"path": "run.sh", "content": "x"}, "read-only", "chmod")
		b.fails("edit_file", args{"path": "run.sh", "old": "newer", "new": "x"}, "read-only")
		has(t, path, "newer\n")
	})
}

func TestListQuotesWhatWouldBreakALine(t *testing.T) {
	b := newBench(t, Options{})
	b.put("ordinary ä", "")
	b.put("two\nlines", "")
	contains(t, b.ok("list_files", args{}), "ordinary ä  0 B\n", `"two\nlines"  0 B`)
}
