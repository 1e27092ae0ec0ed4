package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/localsock"
	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
	"github.com/patchbay-dev/patchbay/internal/plugtest/soak"
)

// TestKilled kills processes without warning. All acknowledged records must be stored.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	acked := make(map[string]uint64)
	for round := range soak.Times(2, 6) {
		c := startChild(t, "append", dir)
		c.awaitAcks(10 + 7*round)
		c.kill()
		for data, sequence := range c.acked {
			acked[data] = sequence
		}
		checkAcked(t, dir, acked)
	}
}

// checkAcked opens the directory, and checks that every acknowledged record is stored once, under
// its number.
func checkAcked(t *testing.T, dir string, acked map[string]uint64) {
	t.Helper()
	e, err := Open(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	records, err := openStream(t, e, "records").Read(t.Context(), "", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	stored := make(map[string]uint64)
	for _, r := range records {
		if stored[string(r.Data)] != 0 {
			t.Errorf("%s is stored twice", r.Data)
		}
		stored[string(r.Data)] = r.Sequence
	}
	for data, sequence := range acked {
		if stored[data] != sequence {
			t.Errorf("%s was acknowledged as %d, stored is %d", data, sequence, stored[data])
		}
	}
	if len(acked) == 0 {
		t.Error("nothing was acknowledged")
	}
}

func TestTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	owner := startChild(t, "append", dir)
	owner.awaitAcks(1)
	e := open(t, Options{Dir: dir})
	t.Run("the second is a guest, and knows the owner", func(t *testing.T) {
		if s := e.Status(); s.Mode != Guest || holder(dir) != owner.cmd.Process.Pid || !s.Connected {
			t.Errorf("%+v", s)
		}
	})
	s := openStream(t, e, "records")
	t.Run("both write and read the same", func(t *testing.T) {
		sequence := appendTo(t, s, "t", "of the guest")
		for owner.ack() {
			if n := len(owner.acked); n > 5 {
				break
			}
		}
		records, err := s.Read(t.Context(), "t", sequence-1, 1)
		if err != nil || show(records) != fmt.Sprintf("%d:t=of the guest", sequence) {
			t.Errorf("%s, %v", show(records), err)
		}
	})
	t.Run("when the owner ends, the guest takes over", func(t *testing.T) {
		owner.end()
		appendTo(t, s, "t", "afterwards")
		if s := e.Status(); s.Mode != Owner || holder(dir) != os.Getpid() {
			t.Errorf("%+v", s)
		}
	})
	t.Run("all acknowledged records are stored", func(t *testing.T) {
		checkAcked(t, dir, owner.acked)
	})
}

// TestTakeover kills the owner again and again while all processes write. The calls of the
// survivors wait and succeed, and a follower sees every record once.
func TestTakeover(t *testing.T) {
	const children = 4
	dir := t.TempDir()
	processes := []*child{startChild(t, "append", dir)}
	processes[0].awaitAcks(1) // the owner
	for range children - 1 {
		c := startChild(t, "append", dir)
		c.awaitAcks(1)
		processes = append(processes, c)
	}
	e := open(t, Options{Dir: dir})
	s := openStream(t, e, "records")
	followed := startFollowing(t, s)

	acked := make(map[string]uint64)
	for n := range children { // until this process is the owner, at the latest when all others are dead
		if owner := ownerAmong(t, dir, processes); owner != nil {
			owner.awaitAcks(5)
			owner.kill()
		}
		for i := range 20 {
			data := fmt.Sprintf("guest-%d-%d", n, i)
			acked[data] = appendTo(t, s, "t", data)
		}
	}
	for _, c := range processes {
		if c.cmd.ProcessState == nil {
			c.awaitAcks(5)
			c.kill()
		}
		for data, sequence := range c.acked {
			acked[data] = sequence
		}
	}
	last := appendTo(t, s, "t", "end")
	if s := e.Status(); s.Mode != Owner {
		t.Errorf("all other processes are dead: %+v", s)
	}
	followed.check(t, s, last)
	checkAcked(t, dir, acked)
}

// ownerAmong waits until a process owns the directory. It returns nil if this process does.
func ownerAmong(t *testing.T, dir string, processes []*child) (owner *child) {
	t.Helper()
	eventually.True(t, "a process is the owner", func() bool {
		pid := holder(dir)
		for _, c := range processes {
			if c.cmd.Process.Pid == pid && c.cmd.ProcessState == nil {
				owner = c
			}
		}
		return owner != nil || pid == os.Getpid()
	})
	return owner
}

// A following collects the records of Follow.
type following struct {
	cancel context.CancelFunc
	done   chan error

	mu      sync.Mutex // protects records
	records []Record
}

func startFollowing(t *testing.T, s Stream) *following {
	ctx, cancel := context.WithCancel(t.Context())
	f := &following{cancel: cancel, done: make(chan error, 1)}
	go func() {
		f.done <- s.Follow(ctx, "", 0, func(r Record) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.records = append(f.records, r)
			return nil
		})
	}()
	return f
}

// check waits for a sequence number, and compares the collected records with the stored ones.
func (f *following) check(t *testing.T, s Stream, last uint64) {
	t.Helper()
	eventually.True(t, "the follower comes to the end", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.records) > 0 && f.records[len(f.records)-1].Sequence >= last
	})
	f.cancel()
	if err := <-f.done; !errors.Is(err, context.Canceled) {
		t.Errorf("follow: %v", err)
	}
	stored, err := s.Read(t.Context(), "", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if told, want := show(f.records), show(stored); told != want {
		t.Errorf("followed: %d records\nstored: %d records", len(f.records), len(stored))
	}
}

func TestHandover(t *testing.T) {
	dir := t.TempDir()
	owner := open(t, Options{Dir: dir})
	var guests []*Engine
	for range 6 {
		guests = append(guests, open(t, Options{Dir: dir}))
	}
	t.Run("of many guests one takes over, and calls made meanwhile succeed", func(t *testing.T) {
		var all sync.WaitGroup
		for i, g := range guests {
			b := openBucket(t, g, BucketConfig{Name: "b"})
			all.Go(func() {
				for n := range 30 {
					if _, err := b.Put(t.Context(), fmt.Sprintf("%d/%d", i, n), nil); err != nil {
						t.Error(err)
					}
				}
			})
		}
		if err := owner.Close(); err != nil {
			t.Fatal(err)
		}
		all.Wait()
		owners := 0
		for _, g := range guests {
			if g.Status().Mode == Owner {
				owners++
			}
		}
		keys, err := openBucket(t, guests[0], BucketConfig{Name: "b"}).Keys(t.Context(), "")
		if owners != 1 || len(keys) != 6*30 || err != nil {
			t.Errorf("%d owners, %d keys, %v", owners, len(keys), err)
		}
	})
}

func TestHeldDirectory(t *testing.T) {
	dir := t.TempDir()
	c := startChild(t, "lock", dir)
	if !c.lines.Scan() {
		t.Fatal("the child ended")
	}
	t.Run("a directory that a process holds but does not share is refused, and the error names the process", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := Open(ctx, Options{Dir: dir})
		var held *HeldError
		if !errors.As(err, &held) || held.PID != c.cmd.Process.Pid || !errors.Is(err, ErrUnavailable) ||
			!strings.Contains(err.Error(), "process "+strconv.Itoa(held.PID)) {
			t.Errorf("%v", err)
		}
	})
	t.Run("it can be opened when it is free", func(t *testing.T) {
		c.kill()
		open(t, Options{Dir: dir})
	})
}

func TestBadDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		if e, err := Open(t.Context(), Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "data directory") {
			t.Errorf("%v, %v", e, err)
		}
	}
	if e, err := Open(t.Context(), Options{}); err == nil {
		t.Errorf("neither a directory nor a url: %v", e)
	}
}

func TestSocketPath(t *testing.T) {
	t.Run("a path too long for a socket is replaced by a short one, the same for all processes", func(t *testing.T) {
		t.Setenv("XDG_RUNTIME_DIR", "")
		t.Setenv("TMPDIR", shortTemp(t))
		dir := filepath.Join(t.TempDir(), strings.Repeat("d", 120))
		owner := open(t, Options{Dir: dir})
		guest := open(t, Options{Dir: dir})
		if o, g := owner.Status().Mode, guest.Status().Mode; o != Owner || g != Guest {
			t.Errorf("%s, %s", o, g)
		}
		if info, err := os.Stat(filepath.Dir(owner.node.socket)); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	})
	t.Run("a directory for sockets that is open to others is refused", func(t *testing.T) {
		t.Setenv("XDG_RUNTIME_DIR", "")
		t.Setenv("TMPDIR", shortTemp(t))
		if err := os.MkdirAll(localsock.RuntimeDir(), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(localsock.RuntimeDir(), 0o777); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), strings.Repeat("d", 120))
		if e, err := Open(t.Context(), Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "open to others") {
			t.Errorf("%v, %v", e, err)
		}
	})
	t.Run("only the user can use the socket", func(t *testing.T) {
		e := open(t, Options{Dir: t.TempDir()})
		if info, err := os.Stat(e.node.socket); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	})
	t.Run("several names of a directory come to one socket", func(t *testing.T) {
		dir := t.TempDir()
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(dir, link); err != nil {
			if runtime.GOOS != "windows" { // where making a link takes a privilege
				t.Fatal(err)
			}
			t.Skip(err)
		}
		open(t, Options{Dir: dir})
		if mode := open(t, Options{Dir: link}).Status().Mode; mode != Guest {
			t.Errorf("by another name: %s", mode)
		}
	})
}

// shortTemp returns a temporary directory with a short name, so that a socket's path is not too
// long. t.TempDir contains the test's name.
func shortTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pb")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestClosed(t *testing.T) {
	e, err := Open(t.Context(), Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	b, s := openBucket(t, e, BucketConfig{Name: "b"}), openStream(t, e, "s")
	done := make(chan error, 1)
	go func() { done <- s.Follow(context.Background(), "", 0, func(Record) error { return nil }) }()
	for range 2 { // closing twice does no harm
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Put(t.Context(), "k", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("put: %v", err)
	}
	if err := <-done; !errors.Is(err, ErrClosed) {
		t.Errorf("follow: %v", err)
	}
}
