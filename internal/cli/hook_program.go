package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/hookclient"
	"github.com/patchbay-dev/patchbay/internal/hookinstall"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// hookProgram returns the program that other agents start: patchbay-hook if it is beside this
// program, else this program.
func (a *app) hookProgram() (hookinstall.Program, error) {
	self, err := os.Executable()
	if err != nil {
		return hookinstall.Program{}, fmt.Errorf("finding the path of this program: %w", err)
	}
	if strings.Contains(filepath.ToSlash(self), "/go-build") {
		return hookinstall.Program{}, withFix(fmt.Errorf("%s was built by `go run`, which deletes it when it ends", self),
			"install patchbay first with `go install ./cmd/...`, or build it with `make build` and use bin/patchbay")
	}
	dirs, err := config.Locate(a.getenv, runtime.GOOS)
	if err != nil {
		return hookinstall.Program{}, err
	}
	self = a.asFound(self)
	p := hookinstall.Program{Path: self, Args: []string{"hook"}, Closed: filepath.Join(dirs.State, hookclient.ClosedName), Config: dirs.ConfigFile}
	thin := filepath.Join(filepath.Dir(self), "patchbay-hook")
	if runtime.GOOS == "windows" {
		thin += ".exe"
	}
	if info, err := os.Stat(thin); err == nil && !info.IsDir() && (runtime.GOOS == "windows" || info.Mode().Perm()&0o111 != 0) {
		p.Path, p.Args = thin, nil
	}
	return p, nil
}

// asFound returns the path of this program on PATH, if it is the same file. Such a path stays valid
// after an update.
func (a *app) asFound(self string) string {
	own, err := os.Stat(self)
	if err != nil {
		return self
	}
	for _, dir := range program.SearchPath(a.Environ) {
		found := filepath.Join(dir, filepath.Base(self))
		if other, err := os.Stat(found); err == nil && filepath.IsAbs(found) {
			if os.SameFile(own, other) {
				return found
			}
			return self
		}
	}
	return self
}
