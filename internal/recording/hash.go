package recording

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// Bounds of what is hashed for one plugin: a virtual environment in its directory is not worth a minute.
const (
	maxHashedFiles = 5_000
	maxHashedBytes = 256 << 20
)

// A hasher hashes the files of plugins, each file once however many plugins link to it.
type hasher struct{ files map[string]string }

func newHasher() *hasher { return &hasher{files: make(map[string]string)} }

// of is the SHA-256 of a plugin's file, or of the names and hashes of all files in its directory; "": it cannot be
// told.
func (h *hasher) of(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	if !info.IsDir() {
		left := int64(maxHashedBytes)
		sum, err := h.file(path, &left)
		if err != nil {
			return ""
		}
		return sum
	}
	sum, err := h.dir(path)
	if err != nil {
		return ""
	}
	return sum
}

func (h *hasher) dir(root string) (string, error) {
	all, files, left := sha256.New(), 0, int64(maxHashedBytes)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && unhashed(d.Name()):
			return fs.SkipDir
		case d.IsDir() || strings.HasSuffix(path, ".pyc"):
			return nil
		}
		if files++; files > maxHashedFiles {
			return errTooMuch
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		sum, err := h.file(path, &left)
		fmt.Fprintf(all, "%q %s\n", filepath.ToSlash(name), sum)
		return err
	})
	return hex.EncodeToString(all.Sum(nil)), err
}

// unhashed are directories that change without the plugin changing.
func unhashed(name string) bool { return name == ".git" || name == "__pycache__" }

var errTooMuch = fmt.Errorf("more than %d files or %d MiB", maxHashedFiles, maxHashedBytes>>20)

// file hashes what a path leads to.
func (h *hasher) file(path string, left *int64) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	if sum, ok := h.files[real]; ok {
		return sum, nil
	}
	f, err := plainfile.Open(real)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(f, *left+1))
	if *left -= n; err == nil && *left < 0 {
		err = errTooMuch
	}
	if err != nil {
		return "", err
	}
	h.files[real] = hex.EncodeToString(sum.Sum(nil))
	return h.files[real], nil
}
