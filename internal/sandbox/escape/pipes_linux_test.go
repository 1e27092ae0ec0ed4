package escape

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// pipes has the host's descriptor of each named pipe, by path. The pipes lie in directories that
// the plugin may only read.
type pipes map[string]int

// pipePlaces are the directories of the pipes: grants below /tmp and below home, and the plugin's
// own files.
var pipePlaces = []string{grantDir, notesDir, ownDir}

// restore recreates the pipes that are missing or were replaced, for example by a free attempt.
func (p pipes) restore() error {
	for _, dir := range pipePlaces {
		path := dir + "/pipe"
		old, ok := p[path]
		var is, was unix.Stat_t
		if ok && unix.Lstat(path, &is) == nil && unix.Fstat(old, &was) == nil && is.Ino == was.Ino {
			continue
		}
		_ = os.Remove(path) // mostly missing
		if ok {
			_ = unix.Close(old)
		}
		if err := unix.Mkfifo(path, 0o666); err != nil {
			return err
		}
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		p[path] = fd
	}
	return nil
}

// took returns the pipes into which a text was written since the last call.
func (p pipes) took(text string) []string {
	var found []string
	for path, fd := range p {
		var all strings.Builder
		for buf := make([]byte, 4096); ; {
			n, err := unix.Read(fd, buf)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if n <= 0 || err != nil {
				break
			}
			all.Write(buf[:n])
		}
		if strings.Contains(all.String(), text) {
			found = append(found, path+" took it")
		}
	}
	return found
}
