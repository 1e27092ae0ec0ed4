package proc

import (
	"context"
	"time"
)

// killWait bounds the wait for a process that was sent SIGKILL. Only one that hangs in the kernel
// needs longer, and waiting would not help it.
const killWait = 5 * time.Second

// Ladder is how much time a process is given on each rung of its way out.
type Ladder struct {
	Stdin time.Duration // from the closing of stdin to SIGTERM
	Term  time.Duration // from SIGTERM to SIGKILL
}

// Stop ends the process: it closes stdin, waits l.Stdin, sends SIGTERM to the group, waits l.Term,
// sends SIGKILL to the group and to what has left it. It returns as soon as nothing of the group is
// left, with Stdout closed. When the leader goes early, the members that got SIGTERM keep the rest
// of their time; those of a leader that followed the closing of stdin are killed. An ended ctx
// skips the waits. Stopping again, or at the same time, is allowed; the most impatient caller wins.
func (p *Process) Stop(ctx context.Context, l Ladder) Exit {
	defer p.release()
	_ = p.stdin.Close() // closed already: fine
	if p.endsWithin(ctx, l.Stdin) {
		return p.Exit()
	}
	p.terminate(l.Term)
	if p.endsWithin(ctx, l.Term) {
		return p.Exit()
	}
	p.kill()
	p.awaitEnd()
	return p.Exit()
}

// Terminate sends SIGTERM to the group and leaves stdin open; SIGKILL follows when the grace is
// over. It does not wait: see Done.
func (p *Process) Terminate(grace time.Duration) { p.terminate(grace) }

// terminate sends SIGTERM to the group; SIGKILL follows when the grace is over, for all that are
// left by then. It does nothing when the leader has already ended by itself.
func (p *Process) terminate(grace time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return
	}
	killAt := time.Now().Add(grace)
	if p.termed && !killAt.Before(p.killAt) {
		return // a more impatient caller was here
	}
	if !p.termed {
		p.sendGroup(sigTerm)
	}
	p.termed, p.killAt = true, killAt
	if p.timer != nil {
		p.timer.Stop()
	}
	p.timer = time.AfterFunc(grace, p.kill)
}

// terminated reports whether the process was told to end before it did.
func (p *Process) terminated() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.termed
}

// kill sends SIGKILL to the group. What has left the group is swept up once the leader is gone
// (lastRites).
func (p *Process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped || p.killed {
		return
	}
	p.killed = true
	close(p.hurry)
	p.sendGroup(sigKill)
}

// endsWithin waits for the end of the process, but no longer than d or ctx.
func (p *Process) endsWithin(ctx context.Context, d time.Duration) bool {
	if p.ended() {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-ctx.Done():
		return false
	case <-timer.C:
		return false
	}
}

func (p *Process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// awaitEnd waits for a process that was killed.
func (p *Process) awaitEnd() bool {
	return p.endsWithin(context.Background(), killWait)
}

// release closes our ends of the pipes. stderr's is closed by its reader.
func (p *Process) release() {
	_ = p.stdin.Close()
	_ = p.stdout.Close()
}
