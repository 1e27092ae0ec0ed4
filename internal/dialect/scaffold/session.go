package scaffold

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/wire"
)

// A launch holds what is needed for each start of a plugin.
type launch struct {
	path  string
	env   []string
	rt    *dialect.Runtime
	noise *dialect.NoiseLog
}

// A session is one process of a plugin, from the handshake to its end.
type session struct {
	process *proc.Process
	conn    *wire.Serial
}

// open starts the plugin for the first time, and keeps it running.
func open(ctx context.Context, f dialect.Found, s dialect.Settings, rt *dialect.Runtime) (*plugin, error) {
	names := append([]string{"SCAFFOLD_HOME"}, dialect.BaseNames...)
	p := &plugin{launch: &launch{path: f.Path, rt: rt, env: rt.Env.Pick(append(names, s.Env...)),
		noise: dialect.NewNoiseLog(func() *slog.Logger { return rt.Log })}}
	p.launch.noise.Starting(rt.Odd)
	defer p.launch.noise.Started()
	kept, err := proc.Keep(ctx, proc.KeepOptions[*session]{
		Open:      p.connect,
		Close:     func(s *session) { _ = s.conn.Close() }, // the pipes were closed with the process
		OnExit:    func(exit proc.Exit, stderr string) { dialect.LogEnd(rt.Log, exit, stderr) },
		OnRetry:   func(err error) { rt.Log.Warn("plugin cannot be restarted yet", "err", err) },
		OnRestart: func(n int) { rt.Log.Info("plugin restarted", "restarts", n) },
	})
	if err != nil {
		return nil, err
	}
	p.kept = kept
	p.noteConfig(f.Name, s)
	return p, nil
}

// connect starts a process and makes the handshake. If the handshake fails, the process is killed:
// docs/protocols/scaffold.md, row S33.
func (p *plugin) connect(ctx context.Context) (*session, *proc.Process, error) {
	process, err := p.launch.start(ctx)
	if err != nil {
		return nil, nil, err
	}
	s := &session{process: process, conn: wire.NewSerial(process.Stdout(), process.Stdin(), wire.Options{
		MaxSend: mostRequest, MaxReceive: p.launch.rt.Most(mostReply), OnNoise: p.launch.noise.Take})}
	if err := p.handshake(ctx, s); err != nil {
		s.kill()
		return nil, nil, err
	}
	return s, process, nil
}

func (l *launch) start(ctx context.Context) (*proc.Process, error) {
	return l.rt.Procs.Start(ctx, l.rt.Confined(proc.Spec{Path: l.path, Dir: l.rt.Dir, Env: l.env,
		Log: func(line string) { dialect.LogStderr(l.rt.Log, slog.LevelInfo, line) }}, l.path))
}

func (p *plugin) handshake(ctx context.Context, s *session) error {
	late := fmt.Errorf("no answer to initialize within %s", replyTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, replyTimeout, late)
	defer cancel()
	result, err := s.conn.Call(ctx, methodInitialize, initializeParams)
	if errors.Is(err, context.DeadlineExceeded) {
		<-ctx.Done() // the context's timer may fire a moment after the pipe's
	}
	if err != nil {
		if ctx.Err() != nil {
			return unanswered(context.Cause(ctx), late, s.process)
		}
		return fmt.Errorf("initialize: %w", dialect.CallFailure(err, s.process))
	}
	m, err := parseManifest(result)
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	if s.conn.TextIDs() {
		p.launch.rt.NoteTextIDs()
	}
	return p.adopt(m)
}

// unanswered adds the end of the plugin's stderr, which often says why there was no answer. If the
// plugin was late, the error has a fix.
func unanswered(err, late error, process *proc.Process) error {
	slow := errors.Is(err, late)
	if said := hook.ReasonLine(process.Stderr()); said != "" {
		err = fmt.Errorf("%w (stderr: %s)", err, said)
	}
	if slow {
		return dialect.WithFix(err, dialect.UnansweredFix)
	}
	return err
}

// adopt stores the manifest of the first handshake. After a restart the plugin must have the same
// name; other changes of its manifest are ignored. If it declares other hooks than before, adopt
// logs a warning, because a hook that is not called may be a guard.
func (p *plugin) adopt(m *manifest) error {
	if p.manifest == nil {
		p.manifest = m
		for _, w := range m.lost {
			p.launch.rt.Unusable("its answer to initialize: "+w, "correct the plugin's answer to initialize")
		}
		for _, w := range m.warnings {
			p.launch.rt.Odd("its answer to initialize: "+w, "correct the plugin's answer to initialize")
		}
		return nil
	}
	if m.Name != p.manifest.Name {
		return fmt.Errorf("after a restart it calls itself %s, before that it was %s", m.Name, p.manifest.Name)
	}
	if was, now := slices.Sorted(slices.Values(p.manifest.Hooks)), slices.Sorted(slices.Values(m.Hooks)); !slices.Equal(was, now) {
		p.launch.rt.Log.Warn("after a restart it declares other hooks, but those that it declared at first are called",
			"first", strings.Join(was, ", "), "now", strings.Join(now, ", "), "fix", "restart Patchbay")
	}
	return nil
}

// noteConfig reports config for the plugin under the name of its file or its own name.
func (p *plugin) noteConfig(file string, s dialect.Settings) {
	name := file
	if p.launch.rt.Settings != nil && len(s.Config)+len(s.SystemConfig) == 0 {
		name = p.manifest.Name
		s, _ = p.launch.rt.Settings(name) // the host has reported an error of these settings
	}
	p.launch.rt.NoConfig(Name, name, s)
}

// Close sends shutdown, closes stdin and then stops the process group: docs/protocols/scaffold.md,
// row S48.
func (p *plugin) Close(ctx context.Context) error {
	p.kept.Stop(func(s *session, _ *proc.Process) {
		s.end(ctx, p.launch.rt.Log)
	})
	return nil
}

// end gives the plugin time to exit by itself, unless it did not answer shutdown in time. A plugin
// that does not exit delays every command, so the log says so.
func (s *session) end(ctx context.Context, log *slog.Logger) {
	began := time.Now()
	callCtx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	_, err := s.conn.Call(callCtx, methodShutdown, []byte("{}"))
	silent := errors.Is(err, context.DeadlineExceeded)
	ladder := proc.Ladder{Stdin: killGrace, Term: killGrace}
	if silent {
		ladder.Stdin = 0
	}
	exit := s.process.Stop(ctx, ladder)
	_ = s.conn.Close() // the pipes were closed with the process
	took := time.Since(began)
	switch {
	case silent:
		log.Warn("the plugin did not answer shutdown in time and was ended", "dur", took, "exit", exit.String(),
			"fix", `let the plugin answer shutdown with {"ok":true} and exit; until it does, each command takes that much longer`)
	case exit.Signal != "" && ctx.Err() == nil:
		log.Info("the plugin answered shutdown, did not exit and was ended", "dur", took, "exit", exit.String())
	}
}

// kill ends a process without sending shutdown.
func (s *session) kill() {
	s.process.Stop(context.Background(), proc.Ladder{})
	_ = s.conn.Close()
}
