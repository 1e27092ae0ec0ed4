package engine

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/patchbay-dev/patchbay/internal/engine/enginetest"
)

// roleEnv makes the test binary another process on a data directory. Its value is the role, a colon
// and the directory.
const roleEnv = "PATCHBAY_ENGINE_TEST_ROLE"

func TestMain(m *testing.M) {
	if role, dir, ok := strings.Cut(os.Getenv(roleEnv), ":"); ok {
		if err := play(role, dir); err != nil {
			fmt.Fprintln(os.Stderr, role+":", err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(sharing{m})
}

// cluster is the cluster that all tests share.
var cluster enginetest.Shared

// sharing runs the tests with a cluster that ends after the last one.
type sharing struct{ *testing.M }

func (s sharing) Run() int { return cluster.Run(s.M) }

// play runs the role of a child process.
func play(role, dir string) error {
	switch role {
	case "lock": // holds the directory, and shares nothing
		if _, err := tryLock(dir); err != nil {
			return err
		}
		fmt.Println("locked")
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	case "append":
		return appendForever(dir)
	case "together":
		return appendTogether(dir)
	case "full":
		return fillDisk(dir)
	}
	return fmt.Errorf("no such role")
}

// appendForever appends records, and acknowledges each stored one on stdout, until it is killed or
// stdin ends.
func appendForever(dir string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // owns stdin; ends with the process
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	e, err := Open(ctx, Options{Dir: dir})
	if err != nil {
		return err
	}
	s, err := e.Stream(ctx, StreamConfig{Name: "records"})
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		data := fmt.Sprintf("%d-%d", os.Getpid(), n)
		sequence, err := s.Append(ctx, Append{Topic: "t", Data: []byte(data)})
		if ctx.Err() != nil {
			return e.Close()
		}
		if err != nil {
			return err
		}
		fmt.Println(sequence, data)
	}
}

// A child is another process.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.Closer
	lines *bufio.Scanner
	acked map[string]uint64 // record → sequence number, as far as they were read
}

func startChild(t *testing.T, role, dir string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"="+role+":"+dir)
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
	t.Cleanup(func() { // no test leaves a process behind; it may have ended before
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &child{t: t, cmd: cmd, stdin: in, lines: bufio.NewScanner(out), acked: make(map[string]uint64)}
}

// ack reads the next acknowledgement. It returns false at the end.
func (c *child) ack() bool {
	c.t.Helper()
	if !c.lines.Scan() {
		return false
	}
	var sequence uint64
	var data string
	if _, err := fmt.Sscan(c.lines.Text(), &sequence, &data); err != nil {
		return true // an incomplete last line is not an acknowledgement
	}
	c.acked[data] = sequence
	return true
}

func (c *child) awaitAcks(n int) {
	c.t.Helper()
	for range n {
		if !c.ack() {
			c.t.Fatal("the child ended")
		}
	}
}

// kill ends the child with SIGKILL, and reads its acknowledgements.
func (c *child) kill() {
	c.t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		c.t.Fatal(err)
	}
	for c.ack() {
	}
	if err := c.cmd.Wait(); err == nil {
		c.t.Fatal("the child ended by itself before it was killed")
	}
}

// end lets the child end by itself.
func (c *child) end() {
	c.t.Helper()
	_ = c.stdin.Close()
	for c.ack() {
	}
	if err := c.cmd.Wait(); err != nil {
		c.t.Fatalf("child: %v", err)
	}
}

// open opens an engine for the duration of a test.
func open(t *testing.T, o Options) *Engine {
	t.Helper()
	e, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// everywhere runs a test with each kind of engine, because the rules are the same.
func everywhere(t *testing.T, test func(t *testing.T, e *Engine)) {
	t.Run("owner", func(t *testing.T) {
		test(t, open(t, Options{Dir: t.TempDir()}))
	})
	t.Run("guest", func(t *testing.T) {
		dir := t.TempDir()
		open(t, Options{Dir: dir})
		e := open(t, Options{Dir: dir})
		if mode := e.Status().Mode; mode != Guest {
			t.Fatalf("the second engine on a directory is %s", mode)
		}
		test(t, e)
	})
	t.Run("cluster", func(t *testing.T) {
		test(t, open(t, Options{URL: cluster.URL(t)}))
	})
}

func openStream(t *testing.T, e *Engine, name string) Stream {
	t.Helper()
	s, err := e.Stream(t.Context(), StreamConfig{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func openBucket(t *testing.T, e *Engine, c BucketConfig) Bucket {
	t.Helper()
	b, err := e.Bucket(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
