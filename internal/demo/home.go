package demo

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// prefix marks the names under which the binary is a sample plugin.
const prefix = "patchbay-demo-"

// A home is a temporary home directory with the sample plugins in it.
type home struct{ root string }

func (h home) project() string { return filepath.Join(h.root, "project") }

// environ is what the demo's host sees: none of the user's own plugins.
func (h home) environ() []string {
	return []string{"HOME=" + h.root, "PATH=" + os.Getenv("PATH"), "PATCHBAY_HOME=" + filepath.Join(h.root, "patchbay")}
}

// furnish makes a home and puts every sample where its dialect looks for it.
func furnish() (home, error) {
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
	if err := os.MkdirAll(h.project(), 0o700); err != nil {
		return err
	}
	for _, s := range samples {
		dir := filepath.Join(h.root, filepath.FromSlash(s.folder))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		if err := link(self, filepath.Join(dir, prefix+s.name+exeSuffix())); err != nil {
			return err
		}
		if s.manifest == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, "manifest.yaml"), []byte(s.manifest), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func exeSuffix() string {
	if runtime.GOOS == "windows" {
		return ".exe"
	}
	return ""
}

// link gives the binary another name: by a symbolic link, else by a copy.
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
