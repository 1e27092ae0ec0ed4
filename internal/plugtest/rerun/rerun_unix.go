//go:build unix

package rerun

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// NobodyUID is the uid of an ordinary user, who owns no file of a test, and has rights only over
// their own namespaces.
const NobodyUID = 65534

// Elsewhere is a directory outside of /tmp and of every home in which root can make homes.
const Elsewhere = "/var/lib"

// All is the variable with which [Tests] makes every visit. `make soak` sets it.
const All = "PATCHBAY_RERUN_ALL"

// Tests runs the named tests of this binary again: as the user nobody, with a home elsewhere. go
// test itself runs them as root below /tmp, so that each user and each place is tried once. With
// [All] in the environment it adds the other two pairs: the user nobody below /tmp, and root
// elsewhere. A name may have subtests, as in -test.run. If a test is skipped, the run is skipped
// too, and says so.
func Tests(t *testing.T, names ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to become nobody; the tests run as an ordinary user already")
	}
	args := []string{"-test.v", "-test.run=" + exactly(names)}
	visits := []Visit{{UID: NobodyUID, Place: Elsewhere, Args: args}}
	if os.Getenv(All) != "" {
		visits = append(visits, Visit{UID: NobodyUID, Args: args}, Visit{UID: 0, Place: Elsewhere, Args: args})
	}
	for _, v := range visits {
		t.Run(fmt.Sprintf("as user %d, below %s", v.UID, v.place()), func(t *testing.T) {
			out := v.Run(t)
			for _, name := range names {
				v.report(t, name, out)
			}
		})
	}
}

// exactly returns a pattern that matches the named tests and no others.
func exactly(names []string) string {
	var out []string
	for _, name := range names {
		out = append(out, "^"+strings.ReplaceAll(name, "/", "$/^")+"$")
	}
	return strings.Join(out, "|")
}

// report fails if a test did not run: for go test, a pattern that matches nothing is a success.
func (v Visit) report(t *testing.T, name, out string) {
	t.Helper()
	is := func(what, end string) bool {
		return regexp.MustCompile(`(?m)^\s*--- ` + what + `: ` + name + end).MatchString(out)
	}
	switch {
	case is("SKIP", " "):
		t.Skipf("%s was skipped:\n%s", name, v.indented(out))
	case !is("PASS", "[ /]"): // the test or one of its subtests
		t.Errorf("%s did not run:\n%s", name, v.indented(out))
	}
}

// A Visit is one run of the test binary as some user, with its own home.
type Visit struct {
	UID   int
	Place string   // where the home is made; empty: /tmp
	Args  []string // of the test binary
	Env   []string // added to the variables of go test; HOME, TMPDIR and PATH are set
}

func (v Visit) place() string {
	if v.Place == "" {
		return "/tmp"
	}
	return v.Place
}

// Run runs the test binary, and fails the test if one of its tests fails. It returns the output.
func (v Visit) Run(t *testing.T) string {
	t.Helper()
	dir := v.home(t)
	binary := filepath.Join(dir, "tests")
	if err := copySelf(binary); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, append([]string{"-test.timeout=8m"}, v.Args...)...)
	cmd.Env = append(os.Environ(), append([]string{"HOME=" + dir, "TMPDIR=" + dir, "PATH=/usr/local/bin:/usr/bin:/bin"}, v.Env...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(v.UID), Gid: uint32(v.UID)}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, v.indented(string(out)))
	}
	return string(out)
}

func (v Visit) indented(out string) string {
	prefix := fmt.Sprintf("    as user %d: ", v.UID)
	return prefix + strings.ReplaceAll(strings.TrimSpace(out), "\n", "\n"+prefix)
}

// home returns a directory of the user that others may enter.
func (v Visit) home(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(v.place(), "rerun-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chown(dir, v.UID, v.UID)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// copySelf copies the test binary to where every user may start it: go test builds it in a
// directory of its own user.
func copySelf(to string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	in, err := os.Open(self)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
