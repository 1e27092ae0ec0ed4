package sandbox

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

// TestWritingWhatIsNotThere: the host creates missing paths that may be written, and nothing else.
func TestWritingWhatIsNotThere(t *testing.T) {
	needNamespaces(t)
	for _, c := range []struct {
		rule  string
		lay   func(dir string)
		grant string
		put   string // where the plugin writes; empty if it is not started
		mode  os.FileMode
		error string
	}{
		{"a directory", nil, "state", "state/new", os.ModeDir | 0o700, ""},
		{"a name that begins with a dot is a directory", nil, ".state", ".state/new", os.ModeDir | 0o700, ""},
		{"a name with an extension is a file", nil, "notes.db", "notes.db", 0o600, ""},
		{"a hidden name with an extension is a file", nil, ".notes.db", ".notes.db", 0o600, ""},
		{"only the last element is created", nil, "no/state", "", 0, "/no does not exist, so "},
		{"a link that leads nowhere is not followed", func(dir string) { link(t, dir+"/elsewhere", dir+"/state") }, "state", "", 0, "/elsewhere, which does not exist"},
		{"an existing path is not changed", func(dir string) { write(t, dir+"/state/old", "old", 0o644) }, "state", "state/new", os.ModeDir | 0o755, ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			dir := outsideTmp(t)
			if c.lay != nil {
				c.lay(dir)
			}
			s := sh(Options{Grants: grants(t, "write:fs:"+dir+"/"+c.grant)}, "echo hi >"+dir+"/"+c.put)
			if c.error != "" {
				if err := startError(t, s); !strings.Contains(err.Error(), c.error) {
					t.Errorf("%v", err)
				}
				if _, err := os.Stat(dir + "/elsewhere"); err == nil {
					t.Error("the link was followed")
				}
				return
			}
			output(t, s)
			if text, err := os.ReadFile(dir + "/" + c.put); err != nil || string(text) != "hi\n" {
				t.Errorf("%q, %v", text, err)
			}
			if info, err := os.Stat(dir + "/" + c.grant); err != nil || info.Mode() != c.mode {
				t.Errorf("%v, %v", info.Mode(), err)
			}
		})
	}
	t.Run("nothing is created behind a link that the plugin may have created", func(t *testing.T) {
		dir := outsideTmp(t)
		write(t, dir+"/w/x", "", 0o644)
		write(t, dir+"/elsewhere/x", "", 0o644)
		link(t, dir+"/elsewhere", dir+"/w/a")
		output(t, sh(Options{Grants: grants(t, "write:fs:"+dir+"/w", "write:fs:"+dir+"/w/a/new")}, ":"))
		if _, err := os.Stat(dir + "/elsewhere/new"); err == nil {
			t.Error("made")
		}
	})
}

// TestSeveralStartsMakeWhatIsNotThere: two calls of a plugin may start it at once, such as the
// event init and a command of mine. Neither fails because the other was the first to make a path.
func TestSeveralStartsMakeWhatIsNotThere(t *testing.T) {
	dir := outsideTmp(t)
	o := newOrigins(&Options{})
	for round := range 200 {
		for _, form := range []string{"%s/state%d", "%s/notes%d.db"} {
			path := fmt.Sprintf(form, dir, round)
			var starts sync.WaitGroup
			begin := make(chan struct{})
			for range 4 {
				starts.Go(func() {
					<-begin
					if err := o.makeMissing(path); err != nil {
						t.Error(err)
					}
				})
			}
			close(begin)
			starts.Wait()
		}
	}
}
