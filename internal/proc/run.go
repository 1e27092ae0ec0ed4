package proc

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

const (
	// maxStdout is the default of Call.MaxStdout.
	maxStdout = 4 << 20

	// inlineStdin is how much is written without a goroutine: a page, which an empty pipe can hold
	// even if the user has used up the memory for pipes.
	inlineStdin = 4 << 10
)

// A Call is one call to a process per call.
type Call struct {
	Stdin     []byte        // the payload; not used after the call has returned
	MaxStdout int           // how much of stdout is kept; 0 means 4 MiB
	Grace     time.Duration // the time from SIGTERM, which is sent when ctx ends, to SIGKILL
}

// A Result is the result of a call.
type Result struct {
	Stdout    []byte
	Stderr    string // the end of stderr, at most 4 KiB
	Exit      Exit
	Truncated bool // stdout was longer than MaxStdout; the rest was read and dropped
}

// Run starts a process, writes the payload to its stdin, closes stdin, collects stdout and waits
// for the exit. Whatever the exit code, the exit is part of the result and not an error. If ctx
// ends first, the process group gets SIGTERM and, after c.Grace, SIGKILL, and the error is the
// context's cause. The result then has the output read so far.
//
// Run does not wait for processes that the program started and that still hold stdout: they may go
// on in the background. They are killed when the host ends, or if ctx ended before the program did.
func (g *Group) Run(ctx context.Context, s Spec, c Call) (*Result, error) {
	p, err := g.start(ctx, s, startMode{perCall: true, brief: true})
	if err != nil {
		return nil, err
	}
	replaced := g.replaceSpare(s)
	defer replaced()
	return p.call(ctx, c)
}

// call makes one call, on a process that was not used before.
func (p *Process) call(ctx context.Context, c Call) (*Result, error) {
	unwatch := context.AfterFunc(ctx, func() { p.terminate(c.Grace) })
	defer unwatch()
	fed := p.feed(c.Stdin)
	limit := c.MaxStdout
	if limit <= 0 {
		limit = maxStdout
	}
	stdout, truncated, err := collect(p.stdout, limit)
	<-p.done
	_ = p.stdin.Close() // ends a feed whose data is not read
	<-fed
	p.closeOrDrainStdout(err)
	result := &Result{Stdout: stdout, Stderr: p.Stderr(), Exit: p.exit, Truncated: truncated}
	if p.terminated() && ctx.Err() != nil {
		return result, context.Cause(ctx)
	}
	return result, nil
}

// feed writes the payload and closes stdin. It returns a channel that is closed when the payload is
// no longer used. It ignores write errors: a process need not read its payload, and its exit says
// more than the error would.
func (p *Process) feed(payload []byte) <-chan struct{} {
	fed := make(chan struct{})
	write := func() {
		defer close(fed)
		_, _ = p.stdin.Write(payload)
		_ = p.stdin.Close()
	}
	if len(payload) <= inlineStdin {
		write()
	} else {
		go write()
	}
	return fed
}

// closeOrDrainStdout closes stdout, or keeps draining it if a process that was left behind holds
// it.
func (p *Process) closeOrDrainStdout(err error) {
	if !errors.Is(err, os.ErrDeadlineExceeded) || !p.group.keepDraining(p.stdout) {
		_ = p.stdout.Close()
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, p.stdout)
		_ = p.stdout.Close()
		p.group.doneDraining(p.stdout)
	}()
}

// collect reads to the end and keeps the first limit bytes. It reads the rest too, so that the
// process does not block. The error is nil at the end of the file.
func collect(r *os.File, limit int) (kept []byte, truncated bool, err error) {
	kept = make([]byte, 0, min(limit, 4<<10))
	var surplus []byte
	for err == nil {
		var n int
		if len(kept) < limit {
			n, err = r.Read(kept[len(kept):cap(kept)])
			kept = kept[:len(kept)+n]
			kept = grow(kept, limit)
			continue
		}
		if surplus == nil {
			surplus = make([]byte, 32<<10)
		}
		n, err = r.Read(surplus)
		truncated = truncated || n > 0
	}
	if errors.Is(err, os.ErrDeadlineExceeded) { // the deadline may have passed because the host was slow; what is in the pipe was written in time
		rest := leftover(r)
		room := min(len(rest), limit-len(kept))
		kept, truncated = append(kept, rest[:room]...), truncated || room < len(rest)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return kept, truncated, err
}

// grow doubles a full buffer, up to the limit.
func grow(buf []byte, limit int) []byte {
	if len(buf) < cap(buf) || len(buf) == limit {
		return buf
	}
	bigger := make([]byte, len(buf), min(2*cap(buf), limit))
	copy(bigger, buf)
	return bigger
}
