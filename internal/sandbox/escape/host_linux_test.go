package escape

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An attempt is one attempt to escape, and its result.
type attempt struct {
	Language string
	Name     string
	Free     verdict
	Boxed    verdict
}

// languages says how attempts are run.
var languages = []struct {
	name string
	argv []string
}{
	{"python", []string{python, "-S", "-E", "-B", ownDir + "/escapes.py"}},
	{"bash", []string{"/bin/bash", ownDir + "/escapes.sh"}},
}

// python is the system's interpreter, because other users cannot run one in a home.
const python = "/usr/bin/python3"

// runHost is the host. It creates the canaries and runs every attempt, free and boxed. It prints
// each result as a line of JSON.
func runHost() error {
	c, err := newCanaries()
	if err != nil {
		return err
	}
	b, err := newBoxes(os.Getenv("LEVEL"))
	if err != nil {
		return err
	}
	c.barred = b.barred
	stop := make(chan struct{})
	go call(c.secret, c.stray, stop)
	err = errors.Join(runTask(c, b), b.group.Close(), c.shared.close())
	close(stop)
	return err
}

// runTask runs the task of this host.
func runTask(c *canaries, b *boxes) error {
	switch os.Getenv("WHAT") {
	case "legitimate":
		return runLegitimate(c, b)
	case "traps":
		return runTraps(c, b)
	}
	return runEscapes(c, b)
}

func runEscapes(c *canaries, b *boxes) error {
	turn, _ := strconv.Atoi(os.Getenv("TURN")) // inArena sets them
	turns, _ := strconv.Atoi(os.Getenv("TURNS"))
	out := json.NewEncoder(os.Stdout)
	number := 0
	for _, l := range languages {
		names, _, err := runFree(freeSpec{argv: append(l.argv, "list")})
		if err != nil {
			return err
		}
		for _, name := range strings.Fields(names) {
			if only := os.Getenv("ONLY"); only != "" && !strings.Contains(l.name+" "+name, only) {
				continue
			}
			if number++; turns > 0 && number%turns != turn {
				continue
			}
			a, err := c.try(b, l.argv, name)
			if err != nil {
				return fmt.Errorf("%s %s: %w", l.name, name, err)
			}
			a.Language = l.name
			if err := out.Encode(a); err != nil {
				return err
			}
		}
	}
	return nil
}

// try runs one attempt twice.
func (c *canaries) try(b *boxes, argv []string, name string) (attempt, error) {
	a := attempt{Name: name}
	argv = append(argv[:len(argv):len(argv)], name)
	var err error
	if os.Getenv("LEVEL") == full { // once is enough to show that it can succeed
		a.Free, err = c.observe(func(argv []string) (string, int, error) { return runFree(freeSpec{argv: argv, extra: c.held}) }, argv, freeEffectTime)
	}
	if err == nil {
		a.Boxed, err = c.observe(b.run, argv, effectTime)
	}
	return a, err
}

// observe runs one attempt and judges it.
func (c *canaries) observe(run func([]string) (string, int, error), argv []string, wait time.Duration) (verdict, error) {
	if err := c.reset(); err != nil {
		return verdict{}, err
	}
	said, _, err := run(append(argv[:len(argv):len(argv)], c.targets()...))
	if err != nil {
		return verdict{}, err
	}
	return c.judge(said, wait), nil
}

// newCanaries creates the canaries that are created only once.
func newCanaries() (*canaries, error) {
	secret := os.Getenv("CANARY")
	c := &canaries{
		secret: secret, stray: "stray-" + strings.TrimPrefix(secret, "canary-"), serverLog: &serverLog{},
		pipes: pipes{},
		mtime: time.Unix(1_000_000_000+int64(os.Getpid())*7919, 123456789),
		term:  os.NewFile(4, "terminal"),
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGUSR2)
	go func() {
		for range signals {
			c.serverLog.usr2.Add(1)
		}
	}()
	if err := openServers(c.secret, c.stray, c.serverLog); err != nil {
		return nil, err
	}
	var err error
	if c.shared, err = share(c.secret, c.stray); err != nil {
		return nil, err
	}
	if err := os.WriteFile(secretDir+"/program", program(c.secret, c.secret), 0o755); err != nil {
		return nil, err
	}
	// The descriptor is not closed on exec, as in a careless host whose plugins would inherit it.
	fd, err := unix.Open(secretDir+"/canary", unix.O_RDONLY, 0)
	c.held = os.NewFile(uintptr(fd), "canary")
	return c, err
}

// targets returns where the canaries are, as KEY=VALUE, for an attempt. The secret itself is not
// included.
func (c *canaries) targets() []string {
	setuid := ""
	if info, err := os.Stat(toolDir + "/tool"); err == nil && info.Mode()&os.ModeSetuid != 0 {
		setuid = "yes"
	}
	var list []string
	for key, value := range map[string]string{
		"canary": secretDir + "/canary", "victim": secretDir + "/victim", "missing": secretDir + "/missing", "secret": secretDir,
		"home_canary": homeDir + "/.ssh/key", "granted": grantDir, "note": grantDir + "/note", "scratch": writeDir, "own": ownDir, "notes": notesDir,
		"prog": secretDir + "/program", "tool": toolDir + "/tool", "setuid": setuid, "loader": loader(), "barred": c.barred, "python": python,
		"elf": hex.EncodeToString(program(c.secret, c.secret)), "handle": fileHandle(secretDir + "/canary"), "mount": mountDir,
		"host_pid": strconv.Itoa(os.Getpid()), "canary_pid": strconv.Itoa(c.proc.Pid), "host_fd": strconv.Itoa(int(c.held.Fd())),
		"memory": fmt.Sprint(uintptr(unsafe.Pointer(&c.shared.memory[0]))), "stray": c.stray,
		"port": portGranted, "other_port": portOther, "udp_port": portUDP, "listen_port": portListen,
		"other_host": neighbourAddr, "other_host6": neighbourAddr6,
		"name": nameGranted, "forbidden_name": nameForbidden, "rebinding_name": nameRebinding,
		"unix": secretDir + "/socket", "unix_packets": secretDir + "/packets", "unix_datagram": secretDir + "/datagrams",
		"abstract": c.stray, "abstract_datagram": c.stray + ".datagrams", "abstract_passing": c.stray + ".passing",
		"abstract_called": c.stray + ".called", "ipc_key": fmt.Sprint(ipcKey), "shared": c.shared.name,
		"key": c.shared.name, "key_serial": strconv.Itoa(c.shared.key),
	} {
		list = append(list, key+"="+value)
	}
	return list
}

// loader returns the dynamic loader.
func loader() string {
	for _, pattern := range []string{"/lib64/ld-linux-*.so.*", "/lib/ld-linux-*.so.*", "/lib/ld-musl-*.so.*"} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return found[0]
		}
	}
	return "/no/loader"
}

// fileHandle returns the handle of a file as "type:bytes". If the file system has no handles, an
// attempt with it also fails free.
func fileHandle(path string) string {
	h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, path, 0)
	if err != nil {
		return "0:"
	}
	return fmt.Sprintf("%d:%x", h.Type(), h.Bytes())
}
