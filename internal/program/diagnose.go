package program

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"

	"github.com/patchbay-dev/patchbay/internal/excerpt"
)

// A StartError says why a program would not start, and how to fix it.
type StartError struct {
	Path string // the program
	Why  string // the reason, as a clause: "is not executable"
	Fix  string // how to fix it, if possible as a command; may be empty
	Err  error  // the error of the system
}

// maxPath is how much of a path is shown, because a manifest may name a very long one.
const maxPath = 512

// Error returns the path and the reason.
func (e *StartError) Error() string {
	why := e.Why
	if e.Path != "" && (strings.HasPrefix(why, "is ") || strings.HasPrefix(why, "needs ")) {
		why = "it " + why
	}
	return strings.TrimSpace("cannot start "+excerpt.Of(e.Path, maxPath)) + ": " + why
}

// NotExecutable reports whether the reason is the mode of the program itself, so that chmod fixes
// it.
func (e *StartError) NotExecutable() bool { return e.Path != "" && e.Fix == allowExecution(e.Path) }

func allowExecution(path string) string { return "chmod +x " + Quote(path) }

// Unwrap returns the error of the system.
func (e *StartError) Unwrap() error { return e.Err }

// Diagnose says why the program at path would not start, or would not run as a script, in an
// environment. err is the error of the attempt. It is nil before an attempt, and after a shell's
// "command not found" (exit code 127), which hides the reason. Diagnose only reads the file. It
// never returns nil.
func Diagnose(path string, env []string, err error) *StartError {
	d := diagnosis{path: path, env: env}
	for _, look := range []func() (why, fix string){d.place, d.mount, d.mode, d.content} {
		if why, fix := look(); why != "" {
			return &StartError{Path: path, Why: why, Fix: fix, Err: err}
		}
	}
	why, fix := fromError(err, path)
	return &StartError{Path: path, Why: why, Fix: fix, Err: err}
}

// Uninterpreted returns an error if the interpreter of a script would not start in an environment,
// if a text has no #! line, or if the file is empty. It returns nil if the file is something else,
// or if no problem is visible. If the #! line names env and env cannot find the interpreter, the
// start succeeds, and only env fails. Uninterpreted reports this before the start.
func Uninterpreted(path string, env []string) *StartError {
	d := diagnosis{path: path, env: env}
	if info, err := os.Stat(path); err == nil && info.Size() == 0 {
		return &StartError{Path: path, Why: emptyFile, Fix: reinstall, Err: syscall.ENOEXEC}
	}
	head := Head(path)
	look, cause := d.script, error(fs.ErrNotExist)
	if !bytes.HasPrefix(head, []byte("#!")) {
		look, cause = d.foreign, syscall.ENOEXEC
		if !isText(head) { // the system may have an interpreter for it
			return nil
		}
	}
	if why, fix := look(head); why != "" {
		return &StartError{Path: path, Why: why, Fix: fix, Err: cause}
	}
	return nil
}

// Explain is Diagnose for a program that was to be started in a directory. To the kernel a missing
// working directory looks like a missing program.
func Explain(path, dir string, env []string, err error) *StartError {
	if dir != "" {
		if info, statErr := os.Stat(dir); statErr != nil || !info.IsDir() {
			return &StartError{Path: path, Why: "its working directory " + dir + " does not exist", Fix: "mkdir -p " + Quote(dir), Err: err}
		}
	}
	return Diagnose(path, env, err)
}

// notInPath returns the error for a bare name that was not found.
func notInPath(name string, env []string) error {
	path := Getenv(env, "PATH")
	why := "is not in the PATH " + path
	if path == "" {
		why = "is a bare name, and the environment has no PATH"
	}
	return &StartError{Path: name, Why: why, Fix: "install " + name + ", or name the program by its full path", Err: fs.ErrNotExist}
}

// A diagnosis holds the state of one call of Diagnose.
type diagnosis struct {
	path string
	env  []string
	info fs.FileInfo // set by place
}

const (
	emptyFile = "is an empty file"
	reinstall = "reinstall the plugin"
)

// place checks whether there is a file, and whether it can be reached.
func (d *diagnosis) place() (why, fix string) {
	info, err := os.Stat(d.path)
	d.info = info
	switch {
	case err == nil && info.IsDir():
		return "is a directory", "name the program inside it"
	case err == nil && !info.Mode().IsRegular():
		return "is not a regular file", reinstall
	case errors.Is(err, fs.ErrNotExist):
		return d.missing()
	case errors.Is(err, fs.ErrPermission):
		dir := closedParent(d.path)
		return "no permission to enter " + dir, "chmod +x " + Quote(dir)
	case err != nil:
		return cause(err).Error(), ""
	}
	return "", ""
}

// cause returns the error of the system without the path, which the message already contains.
func cause(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}

func (d *diagnosis) missing() (why, fix string) {
	if target, err := os.Readlink(d.path); err == nil {
		return "is a link to " + excerpt.Of(target, maxPath) + ", which does not exist", reinstall
	}
	return "no such file", reinstall
}

// closedParent returns the outermost of the directories above path that this user cannot enter.
func closedParent(path string) string {
	dir := filepath.Dir(path)
	for {
		parent := filepath.Dir(dir)
		if _, err := os.Stat(dir); err == nil || parent == dir {
			return dir
		}
		dir = parent
	}
}

// mode checks whether the file may be executed.
func (d *diagnosis) mode() (why, fix string) {
	if executable(d.path) {
		return "", ""
	}
	if d.info.Mode().Perm()&0o111 != 0 {
		return "is not executable for this user", allowExecution(d.path)
	}
	return "is not executable", allowExecution(d.path)
}

// fromError returns the reason for an error that the file itself does not explain.
func fromError(err error, path string) (why, fix string) {
	switch {
	case err == nil:
		return "no reason is visible", ""
	case Busy(err):
		return "is busy: a program has it open for writing", "close or stop the program that writes it: fuser " + Quote(path)
	case errors.Is(err, syscall.E2BIG):
		return "its arguments and environment are too long", "pass less of either"
	case errors.Is(err, syscall.EAGAIN):
		return "this user has too many processes", "stop some, or raise ulimit -u, or the plugin's own limit of processes, if it has one"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "too many open files", "raise ulimit -n, or the plugin's own limit of open files, if it has one"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied", "look for a security policy (SELinux, AppArmor) that forbids it"
	}
	return err.Error(), ""
}

// ReadFix returns a command that lets the user read a file or a directory that cannot be read.
func ReadFix(path string) string {
	info, err := os.Stat(path)
	switch {
	case err != nil: // a directory on the way may not be entered
		return "chmod u+rx " + Quote(closedParent(path))
	case info.IsDir():
		return "chmod u+rx " + Quote(path)
	}
	return "chmod u+r " + Quote(path)
}

// Quote quotes a path or the name of a plugin so that it can be pasted into a shell.
func Quote(path string) string {
	safe := func(r rune) bool {
		return strings.ContainsRune("/._-+@%:,", r) || unicode.IsLetter(r) || unicode.IsDigit(r)
	}
	if path != "" && strings.TrimFunc(path, safe) == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
