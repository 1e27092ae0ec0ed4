package sessionstore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/engine/enginetest/embedded"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// fakes are the functions that other processes run, by name.
var fakes = map[string]func(args []string) error{
	"talk": talk,
	"wait": wait,
	"hold": hold,
	"make": makeSessions,
}

// TestKilled kills processes in the middle of a turn. All acknowledged messages are there, the turn
// is marked as interrupted, and a model accepts the conversation.
func TestKilled(t *testing.T) {
	t.Run("a guest of the engine", func(t *testing.T) {
		dir := t.TempDir()
		s := shortLived(embedded.Engine(t, dir))
		id := create(t, s, session.Session{}).ID
		for range 3 {
			before, err := s.Messages(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			acked := killTalker(t, dir, id)
			checkAftermath(t, s, id, len(before)+acked)
		}
	})
	t.Run("the owner of the engine", func(t *testing.T) {
		dir := t.TempDir()
		id := prepare(t, dir)
		acked := killTalker(t, dir, id)
		checkAftermath(t, shortLived(embedded.Engine(t, dir)), id, acked)
	})
}

// TestKilledWhileMaking checks that every acknowledged session is in the list and on a page,
// whenever the process that made it was killed.
func TestKilledWhileMaking(t *testing.T) {
	dir := t.TempDir()
	s := New(embedded.Engine(t, dir))
	for range 3 {
		maker := startFake(t, "make", dir)
		var acked []string
		for wanted := 3 + rand.IntN(12); len(acked) < wanted && maker.says.Scan(); {
			acked = append(acked, maker.says.Text())
		}
		if err := maker.process.Kill(); err != nil {
			t.Fatal(err)
		}
		for maker.says.Scan() { // the lines that it printed before it died
			acked = append(acked, maker.says.Text())
		}
		got, want := pages(t, s, 7), listed(t, s)
		if !slices.Equal(got, want) {
			t.Errorf("%d sessions on the pages, %d in the list", len(got), len(want))
		}
		for _, id := range acked {
			if !slices.Contains(got, id) {
				t.Errorf("%s was acknowledged, but is on no page", id)
			}
		}
	}
}

// makeSessions makes sessions until it is killed, and acknowledges each on stdout.
func makeSessions(args []string) error {
	e, err := engine.Open(context.Background(), engine.Options{Dir: args[0]})
	if err != nil {
		return err
	}
	for s := New(e); ; {
		made, err := s.Create(context.Background(), session.Session{})
		if err != nil {
			return err
		}
		fmt.Println(made.ID)
	}
}

// prepare makes a session, and closes the engine again.
func prepare(t *testing.T, dir string) string {
	t.Helper()
	e, err := engine.Open(t.Context(), engine.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	id := create(t, New(e), session.Session{}).ID
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return id
}

// checkAftermath begins the next turn, and checks that it finds at least acked messages.
func checkAftermath(t *testing.T, s *Store, id string, acked int) {
	t.Helper()
	turn := beginWhenFree(t, s, id)
	messages := turn.Messages()
	if len(messages) < acked {
		t.Errorf("%d messages were acknowledged, %d are there", acked, len(messages))
	}
	if left := unanswered(messages); len(left) > 0 {
		t.Errorf("calls without results: %+v", left)
	}
	checkRun(t, messages)
	if got := outline(t, s, id); !strings.HasSuffix(got, " interrupted began") {
		t.Errorf("got …%s", got[max(0, len(got)-80):])
	}
	end(t, turn, session.Done)
}

// checkRun checks that the messages of talkers are complete and in order: each talker counts from
// 0.
func checkRun(t *testing.T, messages []model.Message) {
	t.Helper()
	next := 0
	for _, m := range messages {
		if m.Failed { // added by repairs
			continue
		}
		n, err := strconv.Atoi(m.Content)
		if err != nil || n != next && n != 0 {
			t.Fatalf("%q came instead of %d", m.Content, next)
		}
		next = n + 1
	}
}

// killTalker starts a talker, kills it at a random moment, and returns how many messages were
// acknowledged.
func killTalker(t *testing.T, dir, id string) int {
	t.Helper()
	talker := startFake(t, "talk", dir, id)
	wanted := 3 + rand.IntN(12)
	acked := 0
	for acked < wanted && talker.says.Scan() {
		acked++
	}
	if acked < wanted {
		t.Fatal("the talker ended by itself")
	}
	if err := talker.process.Kill(); err != nil {
		t.Fatal(err)
	}
	for talker.says.Scan() { // the lines that it printed before it died
		acked++
	}
	return acked
}

// A fake is another process.
type fake struct {
	process *os.Process
	hears   io.Writer
	says    *bufio.Scanner
}

// startFake starts a fake, which ends with the test.
func startFake(t *testing.T, args ...string) fake {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, append([]string{"-fake"}, args...)...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	})
	return fake{cmd.Process, in, bufio.NewScanner(out)}
}

// talk begins a turn and writes messages and tool results until it is killed. It acknowledges each
// message on stdout after Append has returned.
func talk(args []string) error {
	turn, err := beginFake(args)
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		call := fmt.Sprint("call", n/4)
		m := []model.Message{user(""), calling(call, call+"b"), result(call), result(call + "b")}[n%4]
		m.Content = fmt.Sprint(n)
		if err := turn.Append(context.Background(), m); err != nil {
			return err
		}
		fmt.Println(n)
	}
}

// wait begins a turn and prints that. For each line on stdin it tries to append a message, and
// prints the result.
func wait(args []string) error {
	turn, err := beginFake(args)
	if err != nil {
		return err
	}
	fmt.Println("begun")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		err := turn.Append(context.Background(), user(lines.Text()))
		fmt.Println(errors.Is(err, ErrLost), err)
	}
	return nil
}

// hold begins a turn whose lease does not expire, prints that, and waits to be killed.
func hold(args []string) error {
	e, err := engine.Open(context.Background(), engine.Options{Dir: args[0]})
	if err != nil {
		return err
	}
	if _, err := lasting(e).Begin(context.Background(), args[1], BeginOptions{Owner: "fake"}); err != nil {
		return err
	}
	fmt.Println("begun")
	select {}
}

// beginFake begins a turn of a session on an engine that is never closed.
func beginFake(args []string) (*Turn, error) {
	e, err := engine.Open(context.Background(), engine.Options{Dir: args[0]})
	if err != nil {
		return nil, err
	}
	return shortLived(e).Begin(context.Background(), args[1], BeginOptions{Owner: "fake"})
}
