package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/document"
)

// stage is a plugin on disk, and a lock.
type stage struct {
	t     *testing.T
	dir   string // the plugin's
	lock  string
	cache string
}

// open returns a keeper that has read the lock.
func open(o Options) (*Keeper, error) {
	k := NewKeeper(o)
	return k, k.Read()
}

func newStage(t *testing.T) *stage {
	t.Helper()
	home := t.TempDir()
	s := &stage{t: t, dir: filepath.Join(home, "plugins", "notes"), lock: filepath.Join(home, "config", "patchbay.lock"), cache: filepath.Join(home, "state", "trust.json")}
	s.write("run.sh", "#!/bin/sh\n")
	s.write("lib/words.txt", "one\n")
	return s
}

func (s *stage) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) plugin(capabilities ...string) Plugin {
	return Plugin{Dialect: "kaged", Name: "notes", Roots: []Root{{Path: s.dir}}, Capabilities: capabilities}
}

func (s *stage) judge(policy Policy, p Plugin) Verdict {
	s.t.Helper()
	k, err := open(Options{Policy: policy, Path: s.lock, Cache: s.cache})
	if err != nil {
		s.t.Fatal(err)
	}
	return k.Judge([]Plugin{p})[0]
}

func (s *stage) want(v Verdict, state State, changes ...Change) {
	s.t.Helper()
	if v.State != state || !slices.Equal(v.Changes, changes) {
		s.t.Errorf("%q %v (%v), want %q %v", v.State, v.Changes, v.Err, state, changes)
	}
}

// TestRecord: a new plugin is recorded, a changed one is reported each time, until it is trusted.
func TestRecord(t *testing.T) {
	s := newStage(t)
	s.want(s.judge(Record, s.plugin("net:a:1")), New)
	s.want(s.judge(Record, s.plugin("net:a:1")), Trusted)
	s.write("lib/words.txt", "two\n")
	s.write("more", "x")
	for range 2 {
		v := s.judge(Record, s.plugin("net:a:1", "net:b:1", "net:[]")) // net:[] asks for nothing
		s.want(v, Changed, Change{"lib/words.txt", "changed"}, Change{"more", "added"})
		if !slices.Equal(v.Withheld, []string{"net:b:1"}) {
			t.Errorf("withheld %q", v.Withheld)
		}
		if r, ok := errors.AsType[*Refusal](v.Err); !ok || !strings.Contains(r.Fix(), "patchbay plugin trust notes") {
			t.Errorf("%v", v.Err)
		}
	}
	k, err := open(Options{Policy: Record, Path: s.lock})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Trust(s.plugin("net:a:1", "net:b:1"), nil); err != nil {
		t.Fatal(err)
	}
	v := s.judge(Record, s.plugin("net:a:1", "net:b:1"))
	s.want(v, Trusted)
	if len(v.Withheld) > 0 {
		t.Errorf("withheld %q", v.Withheld)
	}
}

// TestLocked: new and changed plugins are refused, and nothing is written.
func TestLocked(t *testing.T) {
	s := newStage(t)
	if v := s.judge(Locked, s.plugin()); v.State != New || v.Err == nil {
		t.Errorf("%+v", v)
	}
	if _, err := os.Stat(s.lock); err == nil {
		t.Error("a lock was written")
	}
	s.judge(Record, s.plugin())
	s.want(s.judge(Locked, s.plugin()), Trusted)
	s.write("run.sh", "#!/bin/sh\nrm -rf x\n")
	v := s.judge(Locked, s.plugin())
	s.want(v, Changed, Change{"run.sh", "changed"})
	if v.Err == nil {
		t.Error("a changed plugin is not refused")
	}
}

// TestWhatCounts: which changes count, and which files are not part of a plugin.
func TestWhatCounts(t *testing.T) {
	for name, c := range map[string]struct {
		change func(dir string) error
		want   []Change
	}{
		"the right to be executed": {func(d string) error { return os.Chmod(d+"/run.sh", 0o755) }, []Change{{"run.sh", "changed"}}},
		"a file that is gone":      {func(d string) error { return os.Remove(d + "/lib/words.txt") }, []Change{{"lib/words.txt", "removed"}}},
		"a link":                   {func(d string) error { return os.Symlink("/etc/passwd", d+"/link") }, []Change{{"link", "added"}}},
		"version control": {func(d string) error {
			return errors.Join(os.Mkdir(d+"/.git", 0o755), os.WriteFile(d+"/.git/x", nil, 0o644))
		}, nil},
		"compiled Python": {func(d string) error {
			return errors.Join(os.Mkdir(d+"/__pycache__", 0o755), os.WriteFile(d+"/__pycache__/x", nil, 0o644))
		}, nil},
		"compiled Python that is imported": {func(d string) error { return os.WriteFile(d+"/json.pyc", []byte("\xa7\r\r\n"), 0o644) }, []Change{{"json.pyc", "added"}}},
		"a file that only looks compiled":  {func(d string) error { return os.WriteFile(d+"/a.pyc", []byte("cache"), 0o644) }, nil},
		"the time":                         {func(d string) error { return os.Chtimes(d+"/run.sh", time.Now(), time.Now().Add(time.Hour)) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.judge(Record, s.plugin())
			if err := c.change(s.dir); err != nil {
				t.Fatal(err)
			}
			if v := s.judge(Record, s.plugin()); !slices.Equal(v.Changes, c.want) {
				t.Errorf("%v, want %v", v.Changes, c.want)
			}
		})
	}
}

// TestOnlyWhatChangedIsRead: a file whose size, time and inode are unchanged is not read again, so
// that an unreadable file does not matter. Under Locked it is read.
func TestOnlyWhatChangedIsRead(t *testing.T) {
	s := newStage(t)
	s.judge(Record, s.plugin())
	k := newCache(s.cache, nil)
	stamp, _, err := stampOf(s.plugin().Roots)
	if err != nil {
		t.Fatal(err)
	}
	k.put("kaged:"+s.dir, stamp, "of something else") // the cached sum is used, because the files are unchanged
	k.save()
	if v := s.judge(Record, s.plugin()); v.State != Changed {
		t.Errorf("the files were read again: %q", v.State)
	}
	if v := s.judge(Locked, s.plugin()); v.State != Trusted {
		t.Errorf("the files were not read again: %q", v.State)
	}
	s.write("run.sh", "#!/bin/sh\n") // the same text at another time
	if v := s.judge(Record, s.plugin()); v.State != Trusted {
		t.Errorf("the files were not read again: %q", v.State)
	}
}

// TestDamagedLock: a damaged lock is an error that says how to fix it, and the file stays as it is.
func TestDamagedLock(t *testing.T) {
	for name, text := range map[string]string{
		"no TOML":        "version = ",
		"cut short":      "version = 1\n[[plugin]]\ndialect = \"kaged\"\nname = \"notes\"\nrecorded = \"2026-01-01T00:00:00Z\"\nfiles = [\n  \"ab",
		"another form":   "version = 9\n",
		"an unknown key": "version = 1\ntrusted = true\n",
		"no sum":         "version = 1\n[[plugin]]\ndialect = \"kaged\"\nname = \"n\"\nrecorded = \"2026-01-01T00:00:00Z\"\nfiles = [\"abc - run.sh\"]\n",
		"empty":          "",
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			if err := errors.Join(os.MkdirAll(filepath.Dir(s.lock), 0o755), os.WriteFile(s.lock, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
			_, err := open(Options{Policy: Record, Path: s.lock})
			bad, ok := errors.AsType[*document.Error](err)
			if !ok || !strings.Contains(bad.Problems[0].Fix, "remove "+s.lock) {
				t.Errorf("%v", err)
			}
			if now, err := os.ReadFile(s.lock); err != nil || string(now) != text {
				t.Errorf("the file was changed: %q, %v", now, err)
			}
		})
	}
}

// TestLockSurvives: a lock is the same after it was written and read again, whatever the names of
// files.
func TestLockSurvives(t *testing.T) {
	l := &Lock{}
	l.Put(&Entry{Dialect: "mine", Name: "a \"b\"\n", Path: "/x\x7f\\y", Origin: Origin{Source: "owner/repo", Ref: "v1", Commit: "abc"},
		Recorded: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Capabilities: []string{},
		Files: []File{{Path: "a\x00b <&> 'é\u2028", Mode: Link, Sum: sum(nil)}, {Path: "b  c", Mode: Executable, Sum: sum([]byte("x"))}}})
	back, err := parse("x", l.text())
	if err != nil {
		t.Fatalf("%v\n%s", err, l.text())
	}
	if got, want := fmt.Sprintf("%+v", *back.Entries[0]), fmt.Sprintf("%+v", *l.Entries[0]); got != want || back.Entries[0].Capabilities == nil {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestLockCanBeReadAgain: a lock with more plugins than can be read is not written, and the old one
// stays.
func TestLockCanBeReadAgain(t *testing.T) {
	s := newStage(t)
	s.judge(Record, s.plugin())
	err := Book{Lock: s.lock}.Update(func(l *Lock) (bool, error) {
		for i := range document.MaxKeys / 3 {
			l.Entries = append(l.Entries, &Entry{Dialect: "kaged", Name: fmt.Sprint("n", i), Recorded: time.Now()})
		}
		return true, nil
	})
	if err == nil {
		t.Error("a lock that cannot be read again was written")
	}
	if l, err := Load(s.lock); err != nil || len(l.Entries) != 1 {
		t.Errorf("%v, %v", l, err)
	}
}

// TestUnreadableLock: the fix of a lock that only cannot be read is not to remove it, because it
// says which plugins were trusted.
func TestUnreadableLock(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("[["), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		file:                                 "put back a good copy. If there is none: look at your plugins, remove " + file,
		filepath.Join(file, "patchbay.lock"): "let your user read it: `ls -l ",
	} {
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestManyAtOnce: if several processes record at once, nothing is lost.
func TestManyAtOnce(t *testing.T) {
	s := newStage(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			p := s.plugin()
			p.Name = fmt.Sprint("notes", i)
			if v := s.judge(Record, p); v.State != New || v.Entry == nil {
				t.Errorf("%+v", v)
			}
		})
	}
	all.Wait()
	l, err := Load(s.lock)
	if err != nil || len(l.Entries) != 8 {
		t.Errorf("%d entries, %v", len(l.Entries), err)
	}
}

// TestUnreadable: a plugin that cannot be hashed is reported, and refused under Locked.
func TestUnreadable(t *testing.T) {
	s := newStage(t)
	s.judge(Record, s.plugin())
	if err := makeFIFO(s.dir + "/pipe"); err != nil {
		t.Skip("no named pipes here: ", err)
	}
	for _, policy := range []Policy{Record, Locked} {
		if v := s.judge(policy, s.plugin()); v.State != Unreadable || v.Err == nil {
			t.Errorf("%s: %+v", policy, v)
		}
	}
	if err := os.Remove(s.dir + "/pipe"); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		return // root reads everything
	}
	if err := os.Chmod(s.dir+"/run.sh", 0); err != nil {
		t.Fatal(err)
	}
	if v := s.judge(Locked, s.plugin()); v.State != Unreadable || !errors.Is(v.Err, fs.ErrPermission) {
		t.Errorf("%+v", v)
	}
}

// TestLinkOfPlugin: a plugin that is a link is recorded with its files and its target.
func TestLinkOfPlugin(t *testing.T) {
	s := newStage(t)
	link, other := filepath.Join(t.TempDir(), "notes"), t.TempDir()
	if err := os.Symlink(s.dir, link); err != nil {
		t.Fatal(err)
	}
	p := Plugin{Dialect: "kaged", Name: "notes", Roots: []Root{{Path: link}}}
	s.judge(Record, p)
	s.write("run.sh", "changed")
	s.want(s.judge(Record, p), Changed, Change{"run.sh", "changed"})
	if err := errors.Join(os.Remove(link), os.Symlink(other, link)); err != nil {
		t.Fatal(err)
	}
	s.want(s.judge(Record, p), Changed, Change{".", "changed"}, Change{"lib/words.txt", "removed"}, Change{"run.sh", "removed"})
}

// TestExempt: a plugin in development is not judged.
func TestExempt(t *testing.T) {
	s := newStage(t)
	k, err := open(Options{Policy: Locked, Path: s.lock, Exempt: []string{s.dir}})
	if err != nil {
		t.Fatal(err)
	}
	if v := k.Judge([]Plugin{s.plugin()})[0]; v.State != Exempt || v.Err != nil || k.Check(s.plugin()) != nil {
		t.Errorf("%+v", v)
	}
}

// TestInstallerIsWaitedFor: a process that finds newly installed files before the lock has them
// waits for the lock.
func TestInstallerIsWaitedFor(t *testing.T) {
	s := newStage(t)
	s.judge(Record, s.plugin())
	placed, judged := make(chan struct{}), make(chan Verdict)
	go func() {
		<-placed
		judged <- s.judge(Locked, s.plugin())
	}()
	err := Book{Lock: s.lock}.Update(func(l *Lock) (bool, error) {
		s.write("run.sh", "#!/bin/sh\n# version two\n")
		close(placed)
		select {
		case v := <-judged:
			t.Errorf("Judge did not wait for the lock: %+v", v)
		case <-time.After(50 * time.Millisecond):
		}
		e, err := NewEntry(s.plugin())
		l.Put(e)
		return true, err
	})
	if err != nil {
		t.Fatal(err)
	}
	s.want(<-judged, Trusted)
}

// TestAFileThatIsTooLargeIsNotRead: a file over the limit is refused by its size. Reading a
// gigabyte of it first would take seconds.
func TestAFileThatIsTooLargeIsNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(path, make([]byte, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for most, want := range map[int64]int64{99: 0, 100: 100} {
		n, _, err := hash(visited{path: path, info: info}, most)
		if n != want || (err == nil) != (want > 0) {
			t.Errorf("at most %d bytes: %d were read, %v", most, n, err)
		}
	}
}
