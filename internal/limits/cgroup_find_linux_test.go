package limits

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	fakeHostPid = 500
	service     = "sys/fs/cgroup/user.slice/patchbay.service" // the host's cgroup on the fake file system
)

// fakeTree creates a file system with a cgroup that systemd has delegated to the host.
func fakeTree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for file, text := range map[string]string{
		"proc/self/cgroup": "1:name=systemd:/\n0::/user.slice/patchbay.service\n",
		"proc/self/mountinfo": "23 1 8:1 / / rw - ext4 /dev/sda1 rw\n" +
			"41 31 0:38 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
		"proc/500/stat":                        "500 (patchbay) S 1 500",
		"proc/501/stat":                        "501 (a plugin) 1) S 500 501",
		"proc/502/stat":                        "502 (its child) S 501 501",
		"proc/600/stat":                        "600 (a stranger) S 1 600",
		service + "/cgroup.type":               "domain\n",
		service + "/cgroup.controllers":        "cpu memory pids\n",
		service + "/cgroup.subtree_control":    "\n",
		service + "/cgroup.procs":              "500\n",
		"sys/fs/cgroup/cgroup.controllers":     "memory pids\n",
		"sys/fs/cgroup/cgroup.procs":           "1\n",
		"sys/fs/cgroup/cgroup.subtree_control": "cpu\n",
	} {
		plant(t, root, file, text)
	}
	delegate(t, filepath.Join(root, service))
	return root
}

// delegate marks a directory as systemd does.
func delegate(t *testing.T, dir string) {
	t.Helper()
	user := unix.Setxattr(dir, "user.delegate", []byte("1"), 0)
	if user == nil {
		return
	}
	if err := unix.Setxattr(dir, "trusted.delegate", []byte("1"), 0); err != nil {
		t.Skip("a directory cannot be marked here:", user, err)
	}
}

func TestFindCgroup(t *testing.T) {
	if err := canJoin(); err != nil {
		t.Skip(err)
	}
	const mount = "41 31 0:38 %s /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	for name, test := range map[string]struct {
		change map[string]string // files that differ
		dir    string            // the cgroup to be divided; empty for none
		why    string            // why there is none
	}{
		"the host's own, if it is delegated": {nil, service, ""},
		"the one above, if the host has moved into a leaf": {map[string]string{
			"proc/self/cgroup": "0::/user.slice/patchbay.service/patchbay-host\n"}, service, ""},
		"the root without delegation": {map[string]string{"proc/self/cgroup": "0::/\n"}, "sys/fs/cgroup", ""},
		"below the mounted cgroup": {map[string]string{
			"proc/self/mountinfo": strings.Replace(mount, "%s", "/user.slice", 1),
			"proc/self/cgroup":    "0::/user.slice/user.slice/patchbay.service\n"}, service, ""},
		"one controller is enough": {map[string]string{service + "/cgroup.controllers": "pids\n"}, service, ""},

		"not with version 1 alone":          {map[string]string{"proc/self/cgroup": "4:memory:/\n"}, "", "no cgroups of version 2"},
		"not if it is not mounted":          {map[string]string{"proc/self/mountinfo": "1 1 8:1 / / rw - ext4 a rw\n"}, "", "not mounted"},
		"not without a controller":          {map[string]string{service + "/cgroup.controllers": "hugetlb\n"}, "", "neither the memory nor the pids"},
		"not outside of the mounted one":    {map[string]string{"proc/self/mountinfo": strings.Replace(mount, "%s", "/user", 1)}, "", "not below"},
		"not above the root of a namespace": {map[string]string{"proc/self/cgroup": "0::/../patchbay.service\n"}, "", "not below"},
	} {
		t.Run(name, func(t *testing.T) {
			root := fakeTree(t)
			for file, text := range test.change {
				plant(t, root, file, text)
			}
			tree, err := findCgroup(root, fakeHostPid)
			if test.dir == "" {
				if err == nil || !strings.Contains(err.Error(), test.why) {
					t.Errorf("%v, want %s", err, test.why)
				}
				return
			}
			if err != nil || tree.dir != filepath.Join(root, test.dir) || !tree.pids {
				t.Errorf("%+v, %v", tree, err)
			}
		})
	}
	t.Run("not without delegation", func(t *testing.T) {
		root := fakeTree(t)
		_ = unix.Removexattr(filepath.Join(root, service), "user.delegate")
		_ = unix.Removexattr(filepath.Join(root, service), "trusted.delegate")
		if _, err := findCgroup(root, fakeHostPid); err == nil || !strings.Contains(err.Error(), "not delegated") {
			t.Errorf("%v", err)
		}
	})
}

func TestUnescape(t *testing.T) {
	_, point, found := unifiedMount(`41 31 0:38 / /my\040groups\134040 rw - cgroup2 cgroup2 rw` + "\n")
	if !found || point != `/my groups\040` {
		t.Errorf("%q", point)
	}
}

func TestAtLeast(t *testing.T) {
	for release, want := range map[string]bool{
		"5.14.0": true, "6.1": true, "5.15-rc1": true, "5.13.19-generic": false, "4.19.0": false, "": false, "next": false,
	} {
		if atLeast(release, 5, 14) != want {
			t.Errorf("%q: %v", release, !want)
		}
	}
}

// found returns the tree on a fake file system.
func found(t *testing.T, root string) *cgroupTree {
	t.Helper()
	tree, err := findCgroup(root, fakeHostPid)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// content reads a file of a fake file system.
func content(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

func TestDivide(t *testing.T) {
	t.Run("the host moves into a leaf, and the controllers are handed down", func(t *testing.T) {
		root := fakeTree(t)
		if err := found(t, root).divide(); err != nil {
			t.Fatal(err)
		}
		if got := content(t, root, service, "patchbay-host/cgroup.procs"); got != "500" {
			t.Errorf("moved: %q", got)
		}
		if got := content(t, root, service, "cgroup.subtree_control"); got != "+memory +pids" {
			t.Errorf("handed down: %q", got)
		}
	})
	t.Run("only the existing controllers are handed down", func(t *testing.T) {
		root := fakeTree(t)
		plant(t, root, service+"/cgroup.controllers", "memory\n")
		if err := found(t, root).divide(); err != nil {
			t.Fatal(err)
		}
		if got := content(t, root, service, "cgroup.subtree_control"); got != "+memory" {
			t.Errorf("%q", got)
		}
	})
	t.Run("no process moves if it is divided already", func(t *testing.T) {
		root := fakeTree(t)
		plant(t, root, service+"/cgroup.subtree_control", "memory pids\n")
		if err := found(t, root).divide(); err != nil || exists(filepath.Join(root, service, hostLeaf)) {
			t.Errorf("moved, %v", err)
		}
	})
	t.Run("no process moves at the root", func(t *testing.T) {
		root := fakeTree(t)
		plant(t, root, "proc/self/cgroup", "0::/\n")
		if err := found(t, root).divide(); err != nil || exists(filepath.Join(root, "sys/fs/cgroup", hostLeaf)) {
			t.Errorf("moved, %v", err)
		}
	})
	t.Run("the host moves back if the kernel refuses", func(t *testing.T) {
		root := fakeTree(t)
		tree := found(t, root)
		control := filepath.Join(tree.dir, "cgroup.subtree_control")
		if err := errors.Join(os.Remove(control), os.Mkdir(control, 0o755)); err != nil { // it cannot be written
			t.Fatal(err)
		}
		plant(t, root, service+"/cgroup.procs", "500\n600\n")
		if err := tree.divide(); err == nil {
			t.Error("no error")
		}
		if got := content(t, tree.dir, "cgroup.procs"); got != "500" {
			t.Errorf("moved back: %q", got)
		}
	})
	t.Run("the host and its descendants move, other processes do not", func(t *testing.T) {
		tree := found(t, fakeTree(t))
		for pid, want := range map[int]bool{500: true, 501: true, 502: true, 600: false, 1: false, 777: false} {
			if tree.ours(pid) != want {
				t.Errorf("%d: %v", pid, !want)
			}
		}
	})
}
