package webtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// repo is the folder of the repository, and binary the patchbay that the tests run.
var repo, binary string

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "webtest:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "webtest")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	defer func() { closeBrowser() }() // only a test sets it, when it starts the browser
	if repo, err = filepath.Abs(".."); err != nil {
		return 0, err
	}
	if binary, err = build(dir); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// build returns the program that PATCHBAY names, or builds one. The tested page is the one in the
// program.
func build(dir string) (string, error) {
	if given := os.Getenv("PATCHBAY"); given != "" {
		return given, nil
	}
	path := filepath.Join(dir, "patchbay")
	cmd := exec.Command("go", "build", "-o", path, "./cmd/patchbay")
	cmd.Dir, cmd.Stderr = repo, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	return path, cmd.Run()
}
