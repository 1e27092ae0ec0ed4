package sandbox

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestCoversBuiltAhead: in a jail that was built ahead, Patchbay's own places are covered as they
// are when the call comes. A mount is attached to a directory and not to its name: if that
// directory is renamed or removed outside, the cover goes with it.
func TestCoversBuiltAhead(t *testing.T) {
	do := func(t *testing.T, errs ...error) {
		t.Helper()
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		rule, kind string
		change     func(t *testing.T, dir string)
	}{
		{"a hidden place was replaced", "read", func(t *testing.T, dir string) { do(t, os.Rename(dir+"/.local/state/patchbay", dir+"/away")) }},
		{"a hidden place was removed and made again", "write", func(t *testing.T, dir string) { do(t, os.RemoveAll(dir+"/.local/state/patchbay")) }},
		{"a directory above a hidden place was replaced", "read", func(t *testing.T, dir string) { do(t, os.Rename(dir+"/.local", dir+"/away")) }},
		{"a read-only place was removed and made again", "write", func(t *testing.T, dir string) { do(t, os.RemoveAll(dir+"/.local/share/plugins")) }},
		{"the place with secrets was removed and made again", "write", func(t *testing.T, dir string) { do(t, os.RemoveAll(dir+"/.config/patchbay")) }},
		{"all places were removed and made again", "read", func(t *testing.T, dir string) { do(t, os.RemoveAll(dir+"/.local"), os.RemoveAll(dir+"/.config")) }},
	} {
		t.Run(c.rule, func(t *testing.T) {
			dir := outsideTmp(t)
			const want = "- - config -"
			r := called(t, Options{Guarded: ownHome(t, dir), Grants: grants(t, c.kind+":fs:"+dir)}, "D="+dir+"\n"+lookAround+
				`echo $(see .config/patchbay/secrets.toml; see .local/state/patchbay/log; see .config/patchbay/config.toml; put .local/share/plugins/evil)`)
			r.mustServe(want)
			r.awaitSpare()
			c.change(t, dir)
			ownHome(t, dir)
			if said, used := r.served(); said != want {
				t.Errorf("it said %q, want %q; built ahead: %v", said, want, used)
			}
		})
	}
}

// TestCopiesThatComeLater: a copy that an editor leaves beside a file with secrets is hidden too,
// even if it did not exist when the plugin was loaded.
func TestCopiesThatComeLater(t *testing.T) {
	dir := outsideTmp(t)
	const want = "- - - config other"
	r := called(t, Options{Guarded: ownHome(t, dir), Grants: grants(t, "read:fs:"+dir)}, "D="+dir+"\n"+lookAround+
		`cd .config/patchbay; echo $(see secrets.toml; see secrets.toml~; see .secrets.toml.swp; see config.toml; see ../other/file)`)
	r.mustServe(want)
	r.awaitSpare()
	write(t, dir+"/.config/patchbay/secrets.toml~", "secret", 0o600)
	write(t, dir+"/.config/patchbay/.secrets.toml.swp", "secret", 0o600)
	if said, used := r.served(); said != want {
		t.Errorf("it said %q, want %q; built ahead: %v", said, want, used)
	}
}

// TestJailsBuiltAheadAreEmpty: a call finds nothing of the previous one, and a waiting jail knows
// nothing of any call.
func TestJailsBuiltAheadAreEmpty(t *testing.T) {
	r := new(repeated)
	r.spec = sh(Options{AnyProgram: true, OnPlan: func([]Tree) { r.plans.Add(1) }}, `echo $(ls -A /tmp /var/tmp /dev/shm $HOME | grep left; ls /proc/self/fd | wc -l)
touch /tmp/left /var/tmp/left /dev/shm/left $HOME/left`)
	const secret = "a-word-of-the-call-before"
	r.spec.Env = append(r.spec.Env, "SECRET="+secret)
	r.begin(t)
	first := r.call()
	r.mustServe(first)
	r.awaitSpare()
	looked := 0
	for _, pid := range offspring(os.Getpid()) {
		for _, what := range []string{"environ", "cmdline", "fd/4"} { // the last one is its plan
			text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/" + what)
			if err == nil {
				looked++
			}
			if strings.Contains(string(text), secret) {
				t.Errorf("%s of a waiting jail contains the environment of a call", what)
			}
		}
	}
	if looked == 0 {
		t.Error("nothing could be read")
	}
}
