package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/internal/atomicfile"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/pause"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
	"github.com/patchbay-dev/patchbay/internal/render"
	"github.com/patchbay-dev/patchbay/internal/secretenv"
)

// install makes the system keep the daemon running, and starts it. If the system cannot, nothing is
// written.
func (a *app) install(ctx context.Context, f serveFlags) error {
	u, err := a.plannedUnit(f)
	if err != nil {
		return err
	}
	svc := a.services()
	defer svc.close()
	if err := a.checkInstallable(ctx, svc, u); err != nil {
		return err
	}
	if err := writeUnit(u); err != nil {
		return err
	}
	_ = svc.run(ctx, u.before) // it fails if nothing is installed yet
	for _, command := range u.begin {
		if err := svc.run(ctx, command); err != nil {
			return &problem{kind: kindFailed, err: fmt.Errorf("wrote %s, but cannot start the service: %w", u.path, err),
				fix: "try it by hand: " + strings.Join(command, " ") + "; `patchbay serve --uninstall` removes the file"}
		}
	}
	status, err := a.awaitDaemon(ctx, svc, u)
	if err != nil {
		return err
	}
	return a.showInstalled(u, status)
}

// plannedUnit returns the service for the command line.
func (a *app) plannedUnit(f serveFlags) (unit, error) {
	dirs, err := config.Locate(a.getenv, runtime.GOOS)
	if err != nil {
		return unit{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return unit{}, err
	}
	if strings.Contains(self, "go-build") {
		return unit{}, usage("build or install the command first: go install ./cmd/patchbay", "--install: %s was built by `go run`, which deletes it when it ends", self)
	}
	return a.unit(runtime.GOOS, dirs, a.serveCommand(self, f))
}

// checkInstallable refuses if the service could not work: the system does not run services, or
// another daemon is running.
func (a *app) checkInstallable(ctx context.Context, svc *services, u unit) error {
	if err := svc.run(ctx, u.probe); err != nil {
		return &problem{kind: kindFailed, err: fmt.Errorf("%s cannot run services for you here: %w", u.system, err),
			fix: "nothing was written; make your own supervisor run: " + strings.Join(u.command, " ")}
	}
	status, err := a.daemonStatus(ctx)
	if err != nil || status == nil || status.Hooks || svc.run(ctx, u.active) == nil {
		return err // the old service answers, and will be restarted
	}
	return &problem{kind: kindTaken, err: fmt.Errorf("a daemon is running already (process %d), and not as a service", status.PID),
		fix: "end it with `patchbay serve stop`, then install again"}
}

// startWithin is how long a service may take to answer. Its plugins start first.
const startWithin = time.Minute

// awaitDaemon waits until the service answers, or has failed.
func (a *app) awaitDaemon(ctx context.Context, svc *services, u unit) (*httpapi.DaemonStatus, error) {
	defer a.waiting("waiting for the service to answer")()
	wait, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for {
		if s, err := a.daemonStatus(wait); err == nil && s != nil && !s.Hooks {
			return s, nil
		}
		if u.failed != nil && svc.run(wait, u.failed) == nil {
			return nil, a.notStarted("the service was started, and ended at once with an error")
		}
		if pause.For(wait, 100*time.Millisecond) == nil {
			continue
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, a.notStarted(fmt.Sprintf("the service was started, but does not answer after %s", startWithin))
	}
}

// notStarted returns the error of a service that does not answer. A likely reason is a key that
// only this shell has.
func (a *app) notStarted(what string) error {
	fix := "`patchbay serve logs` says why"
	for _, name := range a.keysToMove() {
		fix += fmt.Sprintf("; %s is only in the environment of this shell: write it into secrets.toml (see `patchbay config path`)", name)
	}
	return &problem{kind: kindFailed, err: errors.New(what), fix: fix + "; then install again, or remove the service: `patchbay serve --uninstall`"}
}

func (a *app) showInstalled(u unit, s *httpapi.DaemonStatus) error {
	keys := a.keysToMove()
	if a.flags.json {
		return a.printJSON(map[string]any{"path": u.path, "pid": s.PID, "http": s.HTTP, "linger": a.lingers(u), "keys": keys})
	}
	a.sayf("wrote %s\nThe daemon runs now (process %d, on %s), and starts at every login.\n", a.place(u.path), s.PID, s.HTTP)
	warn := func(format string, args ...any) {
		text := a.screen().Paint(render.StyleYellow, "!") + " " + fmt.Sprintf(format, args...)
		a.printf("%s\n", render.Wrap(text, a.screen().Width, "  "))
	}
	if !a.lingers(u) {
		warn("It ends when you log out. To keep it running: loginctl enable-linger")
	}
	for _, name := range keys {
		warn("%s is only in the environment of this shell, which the service may not get.\n  Write it into secrets.toml (see patchbay config path): %s = \"…\"", name, name)
	}
	a.sayf("To undo this: patchbay serve --uninstall\n")
	return nil
}

// lingers reports whether the user's services keep running after a logout.
func (a *app) lingers(u unit) bool {
	if u.linger == "" {
		return true // this system has no lingering
	}
	_, err := os.Stat(u.linger)
	return err == nil
}

// keysToMove returns the keys of models that are only in the environment.
func (a *app) keysToMove() []string {
	names := []string{}
	secrets := a.secrets()
	for _, name := range secretenv.Keys(a.Environ) {
		if _, ok := secrets.Lookup(name); !ok {
			names = append(names, name)
		}
	}
	return names
}

// secrets returns the user's secrets, or none if the file cannot be read. The daemon reports that
// error.
func (a *app) secrets() *config.Secrets {
	dirs, err := config.Locate(a.getenv, runtime.GOOS)
	if err != nil {
		return nil
	}
	secrets, err := config.LoadSecrets(dirs.SecretsFile)
	if err != nil {
		return nil
	}
	return secrets
}

// installedUnit returns the service that install wrote on this system.
func (a *app) installedUnit(goos string) (unit, error) {
	notInstalled := func(format string, args ...any) error {
		return &problem{kind: kindNotFound, err: fmt.Errorf("the daemon is not installed: "+format, args...), fix: "`patchbay serve stop` ends a running daemon"}
	}
	dirs, err := config.Locate(a.getenv, goos)
	if err != nil {
		return unit{}, err
	}
	u, err := a.unit(goos, dirs, nil)
	if errors.Is(err, errNoServices) {
		return unit{}, notInstalled("Patchbay installs services of systemd and launchd only, not on %s", goos)
	}
	if err != nil {
		return unit{}, err
	}
	err = checkOwnUnit(u.path)
	if errors.Is(err, fs.ErrNotExist) {
		return unit{}, notInstalled("there is no %s", u.path)
	}
	return u, err
}

// uninstall ends the service, and removes its file.
func (a *app) uninstall(ctx context.Context) error {
	u, err := a.installedUnit(runtime.GOOS)
	if err != nil {
		return err
	}
	svc := a.services()
	defer svc.close()
	var notEnded error
	for _, command := range u.end {
		notEnded = errors.Join(notEnded, svc.run(ctx, command))
	}
	if err := os.Remove(u.path); err != nil { // without its file the service does not start again
		return err
	}
	if err := svc.run(ctx, u.reload); len(u.reload) > 0 && err != nil {
		a.logger().Warn("cannot make the system forget the service", "command", strings.Join(u.reload, " "), "err", err)
	}
	if notEnded != nil {
		if err := a.checkEnded(ctx, u, notEnded); err != nil {
			return err
		}
	}
	if a.flags.json {
		return a.printJSON(map[string]string{"removed": u.path})
	}
	a.sayf("The daemon has ended, and does not start at login any more: removed %s\n", a.place(u.path))
	return nil
}

// checkEnded returns an error if a daemon is running after the service manager failed to end it.
func (a *app) checkEnded(ctx context.Context, u unit, failure error) error {
	s, err := a.daemonStatus(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("removed %s, but cannot find out whether the daemon has ended: %w", u.path, errors.Join(failure, err))
	case s == nil || s.Hooks:
		a.logger().Warn("the service manager reported an error, but no daemon is running", "err", failure)
		return nil
	}
	return &problem{kind: kindFailed, err: fmt.Errorf("removed %s, but the daemon is still running (process %d): %w", u.path, s.PID, failure),
		fix: "end it with `patchbay serve stop`"}
}

// maxUnit limits the size of a unit file. It is more than any unit has.
const maxUnit = 1 << 20

// writeUnit writes the file in one step, unless another program wrote the existing one.
func writeUnit(u unit) error {
	if err := checkOwnUnit(u.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(u.path), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(u.path, []byte(u.text), atomicfile.Options{Mode: 0o644})
}

// checkOwnUnit refuses a file that another program wrote.
func checkOwnUnit(path string) error {
	old, err := plainfile.Read(path, maxUnit)
	if err != nil {
		return err
	}
	if !bytes.Contains(old, []byte(installed)) {
		return &problem{kind: kindRefused, err: fmt.Errorf("%s exists, and was not written by Patchbay", path), fix: "move it away, and run the command again"}
	}
	return nil
}

// serveCommand returns the command line of the service: the flags of this one, with absolute paths.
func (a *app) serveCommand(self string, f serveFlags) []string {
	command := []string{self, "serve"}
	for _, flag := range [][2]string{{"--config", a.path(a.flags.config)}, {"--dir", a.flags.dir}, {"--listen", f.listen}, {"--model", f.model.model}, {"--script", a.path(f.model.script)}} {
		name, value := flag[0], flag[1]
		if value == "" {
			continue
		}
		if name != "--listen" && name != "--model" {
			if whole, err := filepath.Abs(value); err == nil {
				value = whole
			}
		}
		command = append(command, name, value)
	}
	for _, d := range a.flags.dialects {
		command = append(command, "--dialect", d)
	}
	if f.access {
		command = append(command, "--access-log")
	}
	if a.flags.verbose {
		command = append(command, "--verbose")
	}
	return slices.Clip(command)
}
