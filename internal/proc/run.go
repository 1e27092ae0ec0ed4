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

	// inlineStdin is how much is written without a goroutine: a page, which an empty pipe holds
	// even where a user has used up his share of pipe memory.
	inlineStdin = 4 << 10
)

// Call is one call to a process per call.
type Call struct {
	Stdin     []byte        // the payload; not used after the call returned
	MaxStdout int           // how much of stdout is kept; 0: 4 MiB
	Grace     time.Duration // from SIGTERM, when ctx ends, to SIGKILL
}

// Result is what a call left.
type Result struct {
	Stdout    []byte
	Stderr    string // its end, at most 4 KiB
	Exit      Exit
	Truncated bool // stdout was longer than MaxStdout; the rest was read and dropped
}

// Run starts a process, writes the payload to its stdin, closes it, collects stdout and waits for
// the exit. How the process ended is in the result and no error, whatever its code. When ctx ends
// first, the process group gets SIGTERM and, after c.Grace, SIGKILL, and the error is the
// context's; the result then has what was read until then.
//
// A process that has ended is not waited for any longer because something it started still holds
// stdout: that may go on in the background and is left alone. It dies with the host, or when the
// call's ctx ended first.
func (g *Group) Run(ctx context.Context, s Spec, c Call) (*Result, error) {
	p, err := g.start(ctx, s, birth{perCall: true, brief: true})
	if err != nil {
		return nil, err
	}
	replaced := g.replaceSpare(s)
	defer replaced()
	return p.call(ctx, c)
}

// call sees one call through, on a process that nobody has talked to yet.
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
	_ = p.stdin.Close() // ends a feed that nobody reads
	<-fed
	p.letGoStdout(err)
	result := &Result{Stdout: stdout, Stderr: p.Stderr(), Exit: p.exit, Truncated: truncated}
	if p.terminated() && ctx.Err() != nil {
		return result, context.Cause(ctx)
	}
	return result, nil
}

// feed writes the payload and closes stdin. The channel it returns is closed when it no longer uses
// the payload. A process that does not read its payload is none of our business: the error of
// writing to it says nothing that its exit does not.
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

// letGoStdout closes stdout, or leaves it to be drained where the process left someone behind who
// holds it.
func (p *Process) letGoStdout(err error) {
	if !errors.Is(err, os.ErrDeadlineExceeded) || !p.group.adopt(p.stdout) {
		_ = p.stdout.Close()
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, p.stdout)
		_ = p.stdout.Close()
		p.group.disown(p.stdout)
	}()
}

// collect reads to the end, keeping the first limit bytes. What is over the limit is read all the
// same: the process must not block on it. The error is nil at the end of the file.
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
	if errors.Is(err, os.ErrDeadlineExceeded) { // perhaps of us, who came late: what is in the pipe was written in time
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
