// Package localsock handles the Unix sockets between processes of one user: their paths, and which
// users may listen and connect. It does not know the protocols that are spoken over them.
package localsock

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

// maxSocketPath is the longest path that fits into the address of a Unix socket on every system:
// the limit is 104 bytes on macOS and the BSDs and 108 on Linux and Windows, including a zero byte
// at the end.
const maxSocketPath = 103

// Path returns the path of a socket for a directory. The socket is in the directory itself. If that
// path is too long for an address, the socket is in a private directory for such sockets, under a
// name derived from the directory's. Every process gets the same result.
func Path(dir, name string) (string, error) {
	if path := filepath.Join(dir, name); len(path) <= maxSocketPath {
		return path, nil
	}
	sum := sha256.Sum256([]byte(dir))
	path := filepath.Join(RuntimeDir(), hex.EncodeToString(sum[:8])+"-"+name)
	if len(path) > maxSocketPath {
		return "", fmt.Errorf("socket %s: the path is longer than %d bytes: set $XDG_RUNTIME_DIR to a directory with a shorter path", path, maxSocketPath)
	}
	return path, nil
}

// RuntimeDir returns the path of a directory for sockets. The directory must belong to the user
// alone: [CheckDir] checks that.
func RuntimeDir() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) && len(dir) < maxSocketPath-40 {
		return filepath.Join(dir, "patchbay")
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("patchbay-%d", os.Getuid()))
}

// Listen listens for programs of the same user. The caller must know that no other process listens
// there: an existing socket counts as a leftover of a process that has ended, and is removed. Any
// other file in its place is an error.
func Listen(path string) (*net.UnixListener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if err := CheckDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if err := removeLeftSocket(path); err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close() // the error of Chmod says more
		return nil, err
	}
	return l, nil
}

// removeLeftSocket removes a socket that a process has left behind.
func removeLeftSocket(path string) error {
	info, err := os.Lstat(path)
	switch {
	case os.IsNotExist(err):
		return nil
	case err != nil:
		return err
	case !leftSocket(info.Mode()):
		return fmt.Errorf("%s: exists and is not a socket: move it away", path)
	}
	return os.Remove(path)
}

// CheckDir refuses a directory in which another user could have created the socket, or could
// replace it. It is also for directories of data, because a user who can replace files controls the
// data. [RuntimeDir] may be in a place where everybody can create directories, so it must belong to
// the user alone. A directory that the user chose may be readable by others, and may belong to
// root, who can do anything anyway. Root may use the directories of any user.
func CheckDir(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if dir == RuntimeDir() {
		if !info.IsDir() {
			return fmt.Errorf("%s: not a directory", dir)
		}
		return checkOwn(dir, info)
	}
	if err := checkSafe(dir, info); err != nil || info.IsDir() {
		return err
	}
	if info, err = os.Stat(dir); err != nil { // the target of the link
		return err
	}
	return checkSafe(dir, info)
}

// dialWait bounds the time to connect, which is short unless the listener hangs.
const dialWait = time.Second

// Dial connects to the socket at path, and checks the directory and the peer.
func Dial(path string) (net.Conn, error) {
	if err := CheckDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	conn, err := net.DialTimeout("unix", path, dialWait)
	if err != nil {
		return nil, err
	}
	if err := CheckPeer(conn.(*net.UnixConn)); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// takeName is the temporary name of a socket that replaces another. It is not longer than the name
// of any socket.
const takeName = "new.sock"

// Take is [Listen] for a socket on which another process may be listening. The new listener
// replaces the other one in one step, so a caller always reaches one of the two. Windows is the
// exception: it cannot rename sockets. The other process keeps the connections that were made
// before. Only one process at a time may call Take. The socket is not removed when the listener is
// closed: [Leave] removes it.
func Take(path string) (*net.UnixListener, error) {
	if !renames {
		l, err := Listen(path)
		if err == nil {
			l.SetUnlinkOnClose(false)
		}
		return l, err
	}
	if info, err := os.Lstat(path); err == nil && !leftSocket(info.Mode()) {
		return nil, fmt.Errorf("%s: exists and is not a socket: move it away", path)
	}
	draft := filepath.Join(filepath.Dir(path), takeName)
	l, err := Listen(draft)
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	if err := os.Rename(draft, path); err != nil {
		return nil, errors.Join(err, l.Close(), os.Remove(draft))
	}
	return l, nil
}

// Leave removes the socket at path if it is still the file that mine describes, the result of an
// earlier [os.Lstat].
func Leave(path string, mine os.FileInfo) error {
	now, err := os.Lstat(path)
	if err != nil || !os.SameFile(mine, now) {
		return nil // it was replaced or removed
	}
	return os.Remove(path)
}
