//go:build unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// ordinaryID is the uid and gid of an ordinary user. A section that must not be measured as root
// runs as this user.
const ordinaryID = 65534

// asOrdinary makes a section run as an ordinary user, from a directory that contains only this
// program. If it can, it installs a missing bubblewrap. undo removes the directory.
func asOrdinary(cmd *exec.Cmd) (undo func() error, err error) {
	dir, err := os.MkdirTemp("", "bench-ordinary-")
	if err != nil {
		return nil, err
	}
	undo = func() error { return os.RemoveAll(dir) }
	program := filepath.Join(dir, filepath.Base(cmd.Path))
	if err := errors.Join(os.Chmod(dir, 0o755), linkOrCopy(cmd.Path, program), os.Chmod(program, 0o755)); err != nil {
		return nil, errors.Join(err, undo())
	}
	cmd.Path, cmd.Args[0], cmd.Dir = program, program, dir
	cmd.Env = append(cmd.Env, "HOME="+dir)
	if os.Geteuid() != 0 {
		return undo, nil
	}
	installBwrap()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinaryID, Gid: ordinaryID}}
	return undo, nil
}

// installBwrap installs bubblewrap on Debian and its derivatives. If that fails, the section says
// that there is no bwrap.
func installBwrap() {
	if _, err := exec.LookPath("bwrap"); err != nil {
		_ = exec.Command("apt-get", "install", "-y", "bubblewrap").Run()
	}
}
