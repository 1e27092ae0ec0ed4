package escape

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// canaries is everything around the attempts that must not change.
type canaries struct {
	secret    string // contained in every canary; a plugin that prints it has read one
	stray     string // the name of everything that attempts leave behind
	mtime     time.Time
	serverLog *serverLog
	shared    *shared
	term      *os.File    // the other end of the host's terminal
	proc      *os.Process // the canary process, a group leader
	died      chan struct{}
	held      *os.File // an open canary
	pipes     pipes
	barred    string // "yes" if the kernel can bar loaders from being started directly

	before map[string]string // a snapshot of the files
	usr2   int64             // signals that the host had received
}

// watched are the directories that attempts must not change. Scratch is not among them, because it
// is granted.
var watched = []string{secretDir, grantDir, ownDir, homeDir, toolDir}

// strayDirs are the directories in which attempts leave files.
var strayDirs = []string{"/tmp", "/var/tmp", "/dev/shm", "/run", "/run/lock", "/dev/mqueue", arenaDir}

// reset ends the processes that earlier attempts left, recreates the files, clears scratch and
// restarts the canary process if needed. Then it records the state of everything.
func (c *canaries) reset() error {
	if err := eventually(c.endLeftovers); err != nil {
		return err
	}
	if err := c.files(); err != nil {
		return err
	}
	if err := c.scratch(); err != nil {
		return err
	}
	if err := c.pipes.restore(); err != nil {
		return err
	}
	_ = c.pipes.took("") // discards what was written before
	if err := c.startProcess(); err != nil {
		return err
	}
	if mounts, _ := os.ReadFile("/proc/self/mountinfo"); !bytes.Contains(mounts, []byte(c.secret)) {
		if err := mountNamed(c.secret); err != nil { // only root could have unmounted it
			return err
		}
	}
	for _, dir := range strayDirs {
		_ = os.RemoveAll(filepath.Join(dir, c.stray)) // mostly missing
	}
	c.before = snapshot()
	c.usr2 = c.serverLog.usr2.Load()
	return nil
}

func (c *canaries) files() error {
	for _, path := range []string{secretDir + "/new", secretDir + "/victim", secretDir + "/tree", grantDir + "/new", notesDir + "/new"} {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	if err := c.programs(); err != nil {
		return err
	}
	for _, dir := range []string{secretDir + "/" + c.secret, secretDir + "/tree", homeDir + "/.ssh", grantDir, notesDir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	for path, text := range map[string]string{
		secretDir + "/canary": c.secret + " is a secret\n", secretDir + "/victim": "victim", secretDir + "/tree/leaf": "leaf",
		homeDir + "/.ssh/key": c.secret, grantDir + "/note": "to be read", notesDir + "/note": "to be read",
	} {
		if err := rewrite(path, text); err != nil {
			return err
		}
	}
	_ = os.Remove(secretDir + "/pointer")
	if err := os.Symlink(c.secret, secretDir+"/pointer"); err != nil {
		return err
	}
	if err := unix.Setxattr(secretDir+"/canary", "user.canary", []byte(c.secret), 0); err != nil {
		return fmt.Errorf("xattr: %w", err)
	}
	return os.Chtimes(secretDir+"/canary", c.mtime, c.mtime)
}

// programs writes the plugin's own files and the tool, which a free attempt may have changed.
func (c *canaries) programs() error {
	_ = os.Remove(ownDir + "/ctypes.py")
	if len(difference(c.before, snapshot())) == 0 {
		return nil
	}
	if err := copyScripts(os.Geteuid()); err != nil {
		return err
	}
	if os.Geteuid() == 0 { // another user cannot write the tool if root has made it
		return makeTool(c.secret)
	}
	return nil
}

// rewrite restores a file, also if it has another owner now. It keeps the inode if possible.
func rewrite(path, text string) error {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		_ = os.Remove(path)
	}
	for _, name := range attributes(path) {
		_ = unix.Removexattr(path, name)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return err
	}
	return os.Chmod(path, 0o644)
}

// scratch empties the granted directory, and puts files there as an accomplice of the plugin could.
func (c *canaries) scratch() error {
	entries, err := os.ReadDir(writeDir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(writeDir, e.Name())); err != nil {
			return err
		}
	}
	if err := os.WriteFile(writeDir+"/dropped", program(c.secret, c.secret), 0o755); err != nil {
		return err
	}
	if err := serveUnix("unix", writeDir+"/socket", c.secret); err != nil {
		return err
	}
	if library := systemLibrary(); library != "" {
		return copyFile(library, writeDir+"/library.so", 0o755)
	}
	return nil
}

// systemLibrary returns a small library that every glibc system has.
func systemLibrary() string {
	for _, pattern := range []string{"/lib/*/libdl.so.2", "/lib64/libdl.so.2", "/usr/lib/libdl.so.2"} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return found[0]
		}
	}
	return ""
}

// startProcess starts the canary process if it is not running.
func (c *canaries) startProcess() error {
	if c.proc != nil && !c.dead() {
		return nil
	}
	p, err := startStage("canary", []string{"CANARY=" + c.secret}, &os.ProcAttr{
		Dir: secretDir + "/" + c.secret,
		Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	}, c.secret)
	if err != nil {
		return err
	}
	died := make(chan struct{})
	go func() { _, _ = p.Wait(); close(died) }()
	c.proc, c.died = p, died
	return eventually(func() error {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.Pid))
		if err == nil && !bytes.Contains(line, []byte(c.secret)) {
			err = fmt.Errorf("the canary process is not up: %q", line)
		}
		return err
	})
}

func (c *canaries) dead() bool {
	select {
	case <-c.died:
		return true
	default:
		return false
	}
}

// runCanary waits to be killed. An empty select would not do: Go's runtime takes it for a deadlock
// and ends the program, unless the program contains C code.
func runCanary() error {
	for {
		time.Sleep(time.Hour)
	}
}

// changes returns everything that has changed since reset.
func (c *canaries) changes() []string {
	found := append(c.shared.changed(), c.pipes.took(c.stray)...)
	if c.dead() {
		found = append(found, "the canary process is dead")
	}
	if c.serverLog.usr2.Load() != c.usr2 {
		found = append(found, "the host was signalled")
	}
	c.serverLog.awaitPackets()
	if c.serverLog.has(c.stray) {
		found = append(found, "a server received it")
		c.serverLog.mu.Lock()
		c.serverLog.heard.Reset()
		c.serverLog.mu.Unlock()
	}
	if strings.Contains(c.terminal(), c.stray) {
		found = append(found, "the terminal shows it")
	}
	for _, dir := range strayDirs {
		if _, err := os.Lstat(filepath.Join(dir, c.stray)); err == nil {
			found = append(found, "it left a file in "+dir)
		}
	}
	found = append(found, privileged(writeDir)...)
	found = append(found, c.names()...)
	return append(found, difference(c.before, snapshot())...)
}

// privileged returns the devices and the setuid or setgid files in a directory. A plugin must leave
// none, even where it may write, because its files belong to the host's user.
func privileged(dir string) []string {
	entries, _ := os.ReadDir(dir) // it existed at reset
	var found []string
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue
		}
		runsAsOwner := info.Mode().IsRegular() && info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0
		if runsAsOwner || info.Mode()&os.ModeDevice != 0 {
			found = append(found, e.Name()+" has "+state(filepath.Join(dir, e.Name()), nil))
		}
	}
	return found
}

// names returns changes to the names of the machine, and restores them.
func (c *canaries) names() []string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return []string{err.Error()}
	}
	var found []string
	if strings.Contains(unix.ByteSliceToString(u.Nodename[:]), c.stray) {
		found = append(found, "the host's name")
		_ = unix.Sethostname([]byte("arena")) // only root could have changed it
	}
	if strings.Contains(unix.ByteSliceToString(u.Domainname[:]), c.stray) {
		found = append(found, "the domain's name")
		_ = unix.Setdomainname([]byte("arena"))
	}
	return found
}

// terminal returns what was written to the host's terminal since the last call.
func (c *canaries) terminal() string {
	var all []byte
	buf := make([]byte, 4096)
	for {
		poll := []unix.PollFd{{Fd: int32(c.term.Fd()), Events: unix.POLLIN}}
		if n, err := unix.Poll(poll, 0); n <= 0 || err != nil || poll[0].Revents&unix.POLLIN == 0 {
			return string(all)
		}
		n, err := unix.Read(int(c.term.Fd()), buf)
		if n <= 0 || err != nil {
			return string(all)
		}
		all = append(all, buf[:n]...)
	}
}

// survivors returns the processes with the stray name among their arguments.
func (c *canaries) survivors() []int { return withArgument("\x00" + c.stray + "\x00") }

// endLeftovers kills the processes that earlier attempts left, and returns an error while there are
// any: a process may be about to become a survivor, and would then be attributed to the next
// attempt. Every attempt has the stray name in some argument.
func (c *canaries) endLeftovers() error {
	left := withArgument(c.stray)
	for _, pid := range left {
		_ = syscall.Kill(pid, syscall.SIGKILL) // one of ours, by its name
	}
	if len(left) > 0 {
		return fmt.Errorf("processes %v of an earlier attempt are left", left)
	}
	return nil
}

// withArgument returns the processes whose arguments contain a text. A zombie has no arguments.
func withArgument(text string) []int {
	entries, _ := os.ReadDir("/proc") // without /proc nothing here works
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline") // it may have ended
		if bytes.Contains(line, []byte(text)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// snapshot returns the state of every file in the watched directories.
func snapshot() map[string]string {
	all := make(map[string]string)
	for _, dir := range watched {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { // an error is a state, too
			all[path] = state(path, err)
			return nil
		})
	}
	return all
}

// state returns everything that an attempt might change of a file.
func state(path string, err error) string {
	var s unix.Stat_t
	if err == nil {
		err = unix.Lstat(path, &s)
	}
	if err != nil {
		return err.Error()
	}
	text := fmt.Sprintf("mode %o, owner %d:%d, links %d", s.Mode, s.Uid, s.Gid, s.Nlink)
	if s.Mode&unix.S_IFMT == unix.S_IFREG && s.Size < 1<<16 {
		data, _ := os.ReadFile(path) // an unreadable file counts as empty, which differs
		text += fmt.Sprintf(", mtime %d, content %x", s.Mtim.Nano(), sha256.Sum256(data))
	}
	return text + ", attributes " + strings.Join(attributes(path), " ")
}

func attributes(path string) []string {
	buf := make([]byte, 1024)
	n, err := unix.Llistxattr(path, buf)
	if err != nil || n == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(buf[:n]), "\x00"), "\x00")
}

func difference(before, after map[string]string) []string {
	var found []string
	for path, was := range before {
		if is, ok := after[path]; !ok {
			found = append(found, path+" is gone")
		} else if is != was {
			found = append(found, fmt.Sprintf("%s was %s and is %s", path, was, is))
		}
	}
	for path := range after {
		if _, ok := before[path]; !ok {
			found = append(found, path+" is new")
		}
	}
	return found
}
