package demo

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// A home is a temporary home directory with the sample plugins in it.
type home struct{ root string }

func (h home) project() string { return filepath.Join(h.root, "project") }

// environ returns the environment of the demo's host. PATH is that of the user, and owns leaves out
// the plugins in it.
func (h home) environ() []string {
	return []string{"HOME=" + h.root, "PATH=" + os.Getenv("PATH"), "PATCHBAY_HOME=" + filepath.Join(h.root, "patchbay")}
}

// owns reports whether a plugin is a sample, not one of the user's plugins, which some dialects
// find in PATH.
func (h home) owns(path string) bool {
	return strings.HasPrefix(path, h.root+string(filepath.Separator))
}

// makeHome creates a home and puts every sample where its dialect looks for it.
func makeHome() (home, error) {
	root, err := os.MkdirTemp("", "patchbay-demo-")
	if err != nil {
		return home{}, err
	}
	h := home{root}
	if err := h.fill(); err != nil {
		os.RemoveAll(root)
		return home{}, err
	}
	return h, nil
}

func (h home) fill() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	folders := []string{"project"}
	for _, s := range samples {
		folders = append(folders, s.folder)
	}
	for _, f := range files() {
		folders = append(folders, f.folder)
	}
	for _, folder := range folders {
		if err := os.MkdirAll(h.path(folder, ""), 0o700); err != nil {
			return err
		}
	}
	for _, s := range samples {
		if err := link(self, h.path(s.folder, s.file+exeSuffix())); err != nil {
			return err
		}
	}
	for _, f := range files() {
		text := strings.ReplaceAll(f.text, binaryGrant, grantOf(self))
		if err := os.WriteFile(h.path(f.folder, f.name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// grantOf returns the capability that a confined sample needs, because it is a link to a program
// outside of its directory. Sandboxes exist only on Linux.
func grantOf(binary string) string {
	if runtime.GOOS != "linux" {
		return ""
	}
	return strconv.Quote("exec:patchbay:" + binary)
}

// path returns the path of a file in one of the home's folders.
func (h home) path(folder, name string) string {
	return filepath.Join(h.root, filepath.FromSlash(folder), name)
}

// hasPython reports whether the python dialect can work on this machine.
func hasPython() bool {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(dir, "python3")); err == nil {
			return true
		}
	}
	return false
}

func exeSuffix() string {
	if runtime.GOOS == "windows" {
		return ".exe"
	}
	return ""
}

// link gives the binary another name, by a symbolic link or else by a copy.
func link(self, path string) error {
	if os.Symlink(self, path) == nil {
		return nil
	}
	from, err := os.Open(self)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if cerr := to.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("copy of %s: %w", self, err)
	}
	return nil
}
