//go:build unix

package config

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestAProjectThatMayNotBeListed: a project directory without read permission is not an error.
func TestAProjectThatMayNotBeListed(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may list everything")
	}
	dir := filepath.Join(t.TempDir(), "closed")
	if err := os.Mkdir(dir, 0o300); err != nil {
		t.Fatal(err)
	}
	if p, err := LoadProject(dir); err != nil || len(p.Plugins) != 0 {
		t.Errorf("%v, %v", p, err)
	}
}

// TestAPipeThatTakesTheFilesPlace: the owner of a project may replace the file by a named pipe
// between two calls. LoadProject must not wait for that pipe.
func TestAPipeThatTakesTheFilesPlace(t *testing.T) {
	root := t.TempDir()
	at := filepath.Join(root, ".patchbay")
	if err := errors.Join(os.Mkdir(at, 0o755), os.WriteFile(at+"/file", nil, 0o644), syscall.Mkfifo(at+"/pipe", 0o644)); err != nil {
		t.Fatal(err)
	}
	stop, swapped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(swapped)
		for {
			select {
			case <-stop:
				return
			default:
				for _, name := range []string{"/file", "/pipe"} {
					_ = os.Link(at+name, at+"/next")
					_ = os.Rename(at+"/next", at+"/config.toml") // the path is each file in turn, and always exists
				}
			}
		}
	}()
	loaded := make(chan struct{})
	go func() {
		defer close(loaded)
		for range 10_000 {
			_, _ = LoadProject(root) // an error or an empty config: both are fine
		}
	}()
	select {
	case <-loaded:
	case <-time.After(time.Minute):
		t.Error("it waits for the pipe")
		if f, err := os.OpenFile(at+"/pipe", os.O_RDWR, 0); err == nil { // ends the wait
			defer f.Close()
		}
	}
	close(stop)
	<-swapped
}
