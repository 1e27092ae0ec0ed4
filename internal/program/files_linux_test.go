package program

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestPrivilegedPrograms(t *testing.T) {
	dir := t.TempDir()
	plain, setuid := filepath.Join(dir, "plain"), filepath.Join(dir, "setuid")
	script := filepath.Join(dir, "script")
	writeFile(t, plain, "#!/bin/sh\n", 0o755)
	writeFile(t, setuid, "\x7fELF", 0o755|os.ModeSetuid)
	writeFile(t, script, "#!"+setuid+"\n", 0o755)
	r := newResolver(t)
	for path, want := range map[string]bool{plain: false, setuid: true, script: true} {
		c, err := r.Resolve(t.Context(), Request{Path: path})
		if err != nil || c.Privileged != want {
			t.Errorf("%s: %v, %v", path, c.Privileged, err)
		}
	}
	// VFS_CAP_REVISION_2, cap_net_bind_service permitted and effective
	capability := []byte{1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	if err := unix.Setxattr(plain, "security.capability", capability, 0); err != nil {
		t.Skip("cannot set capabilities:", err)
	}
	if !r.files.look(plain).privileged {
		t.Error("a changed attribute was not noticed")
	}
}

func TestProgramsAreReadAgainWhenChanged(t *testing.T) {
	var f files
	path := filepath.Join(t.TempDir(), "plug")
	for _, interpreter := range []string{"/bin/sh", "/bin/bash", "/bin/ash"} {
		next := path + ".new" // replaced as an editor does, because the time of change alone could be too coarse
		writeFile(t, next, "#!"+interpreter+"\n", 0o755)
		if err := os.Rename(next, path); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got := f.look(path).line.path; got != interpreter {
				t.Errorf("%s, want %s", got, interpreter)
			}
		}
	}
	if got := f.look(filepath.Join(t.TempDir(), "none")); got.line.path != "" || got.privileged {
		t.Errorf("%+v for a missing file", got)
	}
}
