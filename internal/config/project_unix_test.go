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

// TestAProjectThatMayNotBeListed: a directory without read permission keeps nobody from working in
// it.
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

// TestAPipeThatTakesTheFilesPlace: a project may be somebody's who swaps the file for a named pipe
// between two looks. Nobody waits for that.
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
					_ = os.Rename(at+"/next", at+"/config.toml") // it is each in turn, and always there
				}
			}
		}
	}()
	loaded := make(chan struct{})
	go func() {
		defer close(loaded)
		for range 10_000 {
			_, _ = LoadProject(root) // an error or an empty one: whatever was there
		}
	}()
	select {
	case <-loaded:
	case <-time.After(time.Minute):
		t.Error("it waits for the pipe")
		if f, err := os.OpenFile(at+"/pipe", os.O_RDWR, 0); err == nil { // lets it go
			defer f.Close()
		}
	}
	close(stop)
	<-swapped
}
