package proc

import (
	"context"
	"time"
)

// killWait bounds the wait for a process that was sent SIGKILL. Only a process that hangs in the
// kernel needs longer, and then waiting does not help.
const killWait = 5 * time.Second

// A Ladder says how long Stop waits at each step.
type Ladder struct {
	Stdin time.Duration // from the closing of stdin to SIGTERM
	Term  time.Duration // from SIGTERM to SIGKILL
}

// Stop ends the process: it closes stdin, waits l.Stdin, sends SIGTERM to the group, waits l.Term,
// and sends SIGKILL to the group and to the processes that have left it. It returns as soon as
// nothing of the group is left, with Stdout closed. If the leader ends after SIGTERM, the other
// members keep the rest of l.Term. If it ends before SIGTERM, they are killed. If ctx ends, Stop
// skips the waits. Stop may be called again, or concurrently; the shortest times count.
func (p *Process) Stop(ctx context.Context, l Ladder) Exit {
	defer p.release()
	_ = p.stdin.Close() // may be closed already
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

// Terminate sends SIGTERM to the group and leaves stdin open. SIGKILL follows after grace. It does
// not wait: see Done.
func (p *Process) Terminate(grace time.Duration) { p.terminate(grace) }

// terminate sends SIGTERM to the group, and after grace SIGKILL to the processes left. It does
// nothing if the leader has already ended by itself.
func (p *Process) terminate(grace time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return
	}
	killAt := time.Now().Add(grace)
	if p.termed && !killAt.Before(p.killAt) {
		return // another caller asked for an earlier SIGKILL
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

// terminated reports whether SIGTERM was sent to the process before it ended.
func (p *Process) terminated() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.termed
}

// kill sends SIGKILL to the group. Processes that have left the group are killed when the leader
// has ended (killLeftovers).
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

// release closes the host's ends of stdin and stdout. The goroutine that reads stderr closes
// stderr.
func (p *Process) release() {
	_ = p.stdin.Close()
	_ = p.stdout.Close()
}
