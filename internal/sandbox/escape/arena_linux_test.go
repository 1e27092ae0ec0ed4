package escape

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/patchbay-dev/patchbay/internal/plugtest/machine"
)

// The arena's /tmp and /home are empty, so these paths need no random names.
const (
	arenaDir  = "/tmp/arena"
	ownDir    = arenaDir + "/plugin"    // the plugin's own files
	secretDir = arenaDir + "/secret"    // not granted
	grantDir  = arenaDir + "/granted"   // granted for reading
	writeDir  = arenaDir + "/scratch"   // granted for writing
	toolDir   = arenaDir + "/tool"      // a granted program
	mountDir  = arenaDir + "/mountedOn" // a file system is mounted there

	homeDir  = "/home/arena"      // the operator's home; not in /tmp, because every plugin has its own /tmp
	notesDir = homeDir + "/notes" // granted for reading
)

// Addresses of the cable between arena and neighbour, from documentation ranges (RFC 5737, RFC
// 3849), which the broker takes for public addresses.
const (
	arenaAddr, arenaAddr6         = "203.0.113.1", "2001:db8:5::1"
	neighbourAddr, neighbourAddr6 = "203.0.113.2", "2001:db8:5::2"
)

// firstPid is the first pid of the host's processes. Those in a sandbox begin at 1, so the pid of a
// canary never happens to be that of a process inside.
const firstPid = 20000

// namespaces are the namespaces of the arena.
const namespaces = unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS

// arenaAttr says how to start the arena. Root needs no user namespace. For another user the arena
// has one, in which the user keeps the uid and has a few capabilities.
func arenaAttr() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Cloneflags: namespaces, Setsid: true, Pdeathsig: syscall.SIGKILL}
	if uid := os.Geteuid(); uid != 0 {
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
		attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE, unix.CAP_SYS_RESOURCE}
	}
	return attr
}

// runArena is the first process of the arena. It prepares the arena, starts the host as the
// requested user, and ends with it. The kernel then kills all other processes.
func runArena() error {
	secret := os.Getenv("CANARY")
	for _, step := range []func() error{
		func() error { return mountArena(secret) },
		openNetwork,
		func() error { return layOut(secret) },
		func() error { return os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(firstPid)), 0) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	other, err := startNeighbour(secret)
	if err != nil {
		return err
	}
	defer other.Kill()
	held, err := os.Open(secretDir + "/canary") // for attempts that look at the descriptors of process 1
	if err != nil {
		return err
	}
	defer held.Close()
	return startHost(secret)
}

// mountArena mounts the arena's own directories where attempts leave files.
func mountArena(secret string) error {
	type mount struct{ source, target, kind, data string }
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	for _, m := range []mount{
		{"proc", "/proc", "proc", ""},
		{"devpts", "/dev/pts", "devpts", "newinstance,ptmxmode=0666,mode=0620"},
		{"tmpfs", "/dev/shm", "tmpfs", "mode=1777"},
		{"tmpfs", "/tmp", "tmpfs", "mode=1777"},
		{"tmpfs", "/var/tmp", "tmpfs", "mode=1777"},
		{"tmpfs", "/home", "tmpfs", "mode=0755"},
	} {
		if err := unix.Mount(m.source, m.target, m.kind, 0, m.data); err != nil {
			return fmt.Errorf("mount %s: %w", m.target, err)
		}
	}
	if err := os.WriteFile("/tmp/resolv.conf", []byte("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"), 0o644); err != nil {
		return err
	}
	if err := unix.Mount("/tmp/resolv.conf", "/etc/resolv.conf", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount resolv.conf: %w", err)
	}
	if err := errors.Join(os.MkdirAll(mountDir, 0o755), os.WriteFile("/tmp/"+secret, nil, 0o644)); err != nil {
		return err
	}
	return mountNamed(secret)
}

// mountNamed mounts a file system whose name is the secret.
func mountNamed(secret string) error { return unix.Mount(secret, mountDir, "tmpfs", 0, "size=64k") }

// openNetwork brings the loopback device up, and lets all users use low ports and ping.
func openNetwork() error {
	for name, value := range map[string]string{"ip_unprivileged_port_start": "0", "ping_group_range": "0 65535"} {
		if err := os.WriteFile("/proc/sys/net/ipv4/"+name, []byte(value), 0); err != nil && !errors.Is(err, unix.EINVAL) {
			return err
		}
	}
	return machine.LoopbackUp()
}

// ip runs the tool ip, which creates the cable. Without the tool the arena cannot be built.
func ip(args string) error {
	for _, path := range []string{"/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip"} {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		out, code, err := runFree(freeSpec{argv: append([]string{path}, strings.Fields(args)...)})
		if err == nil && code != 0 {
			err = fmt.Errorf("ip %s: %q", args, out)
		}
		return err
	}
	return errors.New("no program named ip")
}

// startNeighbour starts the other host and creates the cable. The name of the device on this side
// contains the secret.
func startNeighbour(secret string) (*os.Process, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	p, err := startStage("neighbour", []string{"CANARY=" + secret}, &os.ProcAttr{
		Files: []*os.File{nil, write, os.Stderr},
		Sys:   &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET, AmbientCaps: arenaAttr().AmbientCaps},
	})
	write.Close()
	if err != nil {
		return nil, err
	}
	lines := bufio.NewReader(read)
	if _, err := lines.ReadString('\n'); err != nil {
		return nil, fmt.Errorf("the neighbour: %w", err)
	}
	for _, args := range []string{
		fmt.Sprintf("link add %s type veth peer name cable netns %d", secret, p.Pid),
		fmt.Sprintf("addr add %s/24 dev %s", arenaAddr, secret),
		fmt.Sprintf("addr add %s/64 dev %s nodad", arenaAddr6, secret),
		fmt.Sprintf("link set %s up", secret),
	} {
		if err := ip(args); err != nil {
			return nil, err
		}
	}
	if _, err := lines.ReadString('\n'); err != nil {
		return nil, fmt.Errorf("the neighbour's servers: %w", err)
	}
	return p, nil
}

// runNeighbour is another host: it waits for the cable, then serves what the plugin was not
// granted.
func runNeighbour() error {
	if err := machine.LoopbackUp(); err != nil {
		return err
	}
	fmt.Println("in its own network")
	if err := eventually(func() error { return ip("link show cable") }); err != nil {
		return err
	}
	for _, args := range []string{
		"addr add " + neighbourAddr + "/24 dev cable", "addr add " + neighbourAddr6 + "/64 dev cable nodad", "link set cable up",
	} {
		if err := ip(args); err != nil {
			return err
		}
	}
	answer := os.Getenv("CANARY")
	if err := errors.Join(
		serveTCP(":"+portGranted, answer), serveTCP(":"+portOther, answer), serveUDP(":"+portUDP, answer, nil),
	); err != nil {
		return err
	}
	fmt.Println("serving")
	select {}
}

// startStage starts the test binary again as a stage.
func startStage(name string, env []string, attr *os.ProcAttr, args ...string) (*os.Process, error) {
	attr.Env = append([]string{"PATH=/usr/bin:/bin"}, env...)
	p, err := os.StartProcess("/proc/self/exe", append([]string{"escape.test", "-stage", name}, args...), attr)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// startHost runs the host to its end, on its own terminal, as the user whose uid is in the
// environment.
func startHost(secret string) error {
	uid, err := strconv.Atoi(os.Getenv("HOST_UID"))
	if err != nil {
		return err
	}
	master, slave, err := openTerminal(uid)
	if err != nil {
		return err
	}
	defer master.Close()
	attr := &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	if os.Geteuid() == 0 {
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}
	}
	runtime.LockOSThread() // the following applies to this thread and its children
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	host := arenaDir + "/" + secret + "/host"
	p, err := os.StartProcess(host, []string{host, "-stage", "host"}, &os.ProcAttr{
		Dir: arenaDir,
		Env: []string{"PATH=/usr/bin:/bin", "HOME=" + homeDir, "CANARY=" + secret, "ONLY=" + os.Getenv("ONLY"), "WHAT=" + os.Getenv("WHAT"),
			"LEVEL=" + os.Getenv("LEVEL"), "TURN=" + os.Getenv("TURN"), "TURNS=" + os.Getenv("TURNS")},
		Files: []*os.File{nil, os.Stdout, os.Stderr, slave, master},
		Sys:   attr,
	})
	slave.Close()
	if err != nil {
		return err
	}
	return waitFor(p)
}

func waitFor(p *os.Process) error {
	state, err := p.Wait()
	if err == nil && !state.Success() {
		err = errors.New(state.String())
	}
	return err
}

// openTerminal opens a pair of terminals, the second one for a user.
func openTerminal(uid int) (master, slave *os.File, err error) {
	if master, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0); err != nil {
		return nil, nil, err
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("terminal: %w", err)
	}
	name := filepath.Join("/dev/pts", strconv.Itoa(number))
	if err := os.Chown(name, uid, -1); err != nil && os.Geteuid() == 0 {
		return nil, nil, err
	}
	slave, err = os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY, 0)
	return master, slave, err
}
