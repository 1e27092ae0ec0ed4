package python

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// Export writes the package `plugins`, the same code that the interpreter of a host runs, to a
// directory from which programs can import it. It returns that directory, for PYTHONPATH. The
// directory is below parent, and its name has the version and a hash of the content. The files are
// written to a draft directory, which is moved into place as a whole. A complete directory that
// exists already is left alone.
func Export(parent, version string) (string, error) {
	modules, err := readModules()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(parent, version+"-"+fingerprint(modules))
	if strings.ContainsRune(dir, os.PathListSeparator) {
		return "", fmt.Errorf("%q cannot be in PYTHONPATH, because it has %q in it: move the data directory with $PATCHBAY_HOME", dir, os.PathListSeparator)
	}
	if isWhole(dir, modules) {
		return dir, nil
	}
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", err
	}
	draft, err := os.MkdirTemp(parent, ".draft-*")
	if err != nil {
		return "", err
	}
	err = writeModules(draft, modules)
	if err == nil {
		err = putInPlace(draft, dir, modules)
	}
	if err = errors.Join(err, os.RemoveAll(draft)); err != nil {
		return "", fmt.Errorf("the Python package: %w", err)
	}
	return dir, nil
}

// fingerprint returns a hash of the package's content.
func fingerprint(modules map[string]string) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		fmt.Fprintf(sum, "%s %d\n%s", name, len(modules[name]), modules[name])
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:6])
}

// moduleFile returns the file of a module, such as plugins.models.
func moduleFile(dir, module string) string {
	return filepath.Join(dir, filepath.FromSlash(strings.ReplaceAll(module, ".", "/"))+".py")
}

func writeModules(dir string, modules map[string]string) error {
	for name, text := range modules {
		file := moduleFile(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return os.Chmod(dir, 0o755)
}

// isWhole reports whether every module exists with the content that it has in this binary.
func isWhole(dir string, modules map[string]string) bool {
	for name, text := range modules {
		content, err := plainfile.Read(moduleFile(dir, name), len(text))
		if err != nil || !bytes.Equal(content, []byte(text)) {
			return false
		}
	}
	return true
}

// putInPlace moves a draft to dir. If another process was quicker, its directory stays. A damaged
// directory is replaced.
func putInPlace(draft, dir string, modules map[string]string) error {
	err := os.Rename(draft, dir)
	if err == nil || isWhole(dir, modules) {
		return nil
	}
	damaged := draft + "-damaged"
	if moved := os.Rename(dir, damaged); moved != nil {
		return errors.Join(err, moved)
	}
	return errors.Join(os.Rename(draft, dir), os.RemoveAll(damaged))
}
