// Package localsock is for the sockets on which processes of one user talk to each other: where
// they are, who may listen and who may connect. What is said over them is not its affair.
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

// maxSocketPath is what fits into an address of a Unix socket on every system: 104 bytes on macOS
// and the BSDs, 108 on Linux and Windows, a zero byte at the end included.
const maxSocketPath = 103

// Path is where a socket of a directory is: in the directory itself, or, where that is too long for
// an address, in a private directory for such sockets, under a name made from the directory's.
// Every process must come to the same answer.
func Path(dir, name string) (string, error) {
	if path := filepath.Join(dir, name); len(path) <= maxSocketPath {
		return path, nil
	}
	sum := sha256.Sum256([]byte(dir))
	path := filepath.Join(RuntimeDir(), hex.EncodeToString(sum[:8])+"-"+name)
	if len(path) > maxSocketPath {
		return "", fmt.Errorf("socket %s: the path is longer than %d bytes: name a shorter one", path, maxSocketPath)
	}
	return path, nil
}

// RuntimeDir is a directory of the user's own for sockets.
func RuntimeDir() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) && len(dir) < maxSocketPath-40 {
		return filepath.Join(dir, "patchbay")
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("patchbay-%d", os.Getuid()))
}

// Listen listens for programs of the same user. The caller knows that nobody else does: a socket
// that is there already was left by a process that has died. Anything else in its place is
// somebody's, and stays.
func Listen(path string) (*net.UnixListener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if err := CheckDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if err := removeLeft(path); err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close() // the error above tells more
		return nil, err
	}
	return l, nil
}

// removeLeft makes room: where a process died, its socket stays.
func removeLeft(path string) error {
	info, err := os.Lstat(path)
	switch {
	case os.IsNotExist(err):
		return nil
	case err != nil:
		return err
	case !leftSocket(info.Mode()):
		return fmt.Errorf("%s: is there and is not a socket: move it away", path)
	}
	return os.Remove(path)
}

// CheckDir refuses a directory in which somebody else could have put the socket, or could put
// another in its place. It is for directories of data too: who can replace files has the data. One
// in a place where everybody can make directories has to be the user's alone. One of the user's
// choice may be read by others, and may belong to root, who can do anything anyway; root, in turn,
// works in the directories of those it serves.
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
	if info, err = os.Stat(dir); err != nil { // where the link leads
		return err
	}
	return checkSafe(dir, info)
}

// dialWait bounds a connection, which is the work of a moment unless the listener hangs.
const dialWait = time.Second

// Dial connects to whoever listens.
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

// takeName is the name under which a socket is made that takes the place of another: no longer than
// any socket's own.
const takeName = "new.sock"

// Take is [Listen] where somebody else may listen: from one moment to the next callers reach the
// new listener, and none finds nobody. The other one still has those that called before. One
// process at a time may do so. The socket stays when the listener is closed: [Leave] removes it.
func Take(path string) (*net.UnixListener, error) {
	if !renames {
		l, err := Listen(path)
		if err == nil {
			l.SetUnlinkOnClose(false)
		}
		return l, err
	}
	if info, err := os.Lstat(path); err == nil && !leftSocket(info.Mode()) {
		return nil, fmt.Errorf("%s: is there and is not a socket: move it away", path)
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

// Leave removes a socket, where it still is the one that was found there before; see [os.Lstat].
func Leave(path string, mine os.FileInfo) error {
	now, err := os.Lstat(path)
	if err != nil || !os.SameFile(mine, now) {
		return nil // somebody else's by now, or gone
	}
	return os.Remove(path)
}
