package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	// maxValue is the largest value of an embedded engine. The server warns about payloads above 8
	// MiB.
	maxValue = 8 << 20
	// headroom is the space for the headers of a value: an id, a revision, a time to live. All of
	// them are limited.
	headroom = 1 << 10
	// maxMemory limits what the server keeps only in memory: the places of followers.
	maxMemory = 64 << 20
	// maxStore is practically no limit. With 0 the server would use three quarters of the space
	// that is free right now, and refuse its own streams when the disk fills up.
	maxStore = 1 << 44
	// startWait limits the start of a server, which reads all its streams.
	startWait = 30 * time.Second
)

// startServer starts a server on a directory. It listens on no port; InProcessConn connects to it.
// It calls fault when the server can no longer write, and warned with every warning of the server.
func startServer(dir string, log *slog.Logger, fault func(error), warned func(format string, args []any)) (*server.Server, error) {
	srv, err := server.NewServer(&server.Options{
		ServerName:             "patchbay",
		DontListen:             true,
		NoSigs:                 true, // the program handles signals
		NoLog:                  true, // it gets a logger below
		JetStream:              true,
		StoreDir:               dir,
		SyncAlways:             true, // an acknowledged write is on disk
		JetStreamMaxMemory:     maxMemory,
		JetStreamMaxStore:      maxStore,
		MaxPayload:             maxValue + headroom,
		MaxPending:             8 * maxValue, // several of the largest messages may be queued for one connection
		DisableJetStreamBanner: true,
	})
	if err != nil {
		return nil, fmt.Errorf("engine on %s: %w", dir, err)
	}
	slogger := &serverLog{log: log, fault: fault, warned: warned}
	srv.SetLoggerV2(slogger, false, false, false)
	srv.Start()
	if fatal := slogger.fatalError(); fatal != nil || !srv.ReadyForConnections(startWait) || !srv.JetStreamEnabled() {
		srv.Shutdown()
		srv.WaitForShutdown()
		if fatal == nil {
			fatal = errors.New("the server did not start")
		}
		return nil, fmt.Errorf("engine on %s: %w", dir, fatal)
	}
	return srv, nil
}

// A serverLog passes on the server's log. Much of it matters only to operators of clusters; of an
// embedded server only warnings and errors matter.
type serverLog struct {
	log    *slog.Logger
	fault  func(error)
	warned func(format string, args []any) // may be nil

	mu    sync.Mutex // protects fatal
	fatal error      // the first fatal message: why the server did not start
}

func (l *serverLog) fatalError() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fatal
}

// text shortens a message of the server, which may quote what clients sent.
func text(format string, args []any) slog.Attr {
	s := fmt.Sprintf(format, args...)
	return slog.String("text", s[:min(len(s), 500)])
}

// Noticef implements [server.Logger], as the other methods do.
func (l *serverLog) Noticef(format string, args ...any) {
	l.log.Debug("engine: server notice", text(format, args))
}

// Warnf drops the warning about the payload size, which the engine itself chose. A warning that a
// state is outdated becomes a debug message: after a crash the server reads some of its files
// again, and no user has to know that. All other warnings are logged as information.
func (l *serverLog) Warnf(format string, args ...any) {
	if l.warned != nil {
		l.warned(format, args)
	}
	switch {
	case strings.HasPrefix(format, "Maximum payloads over"):
	case strings.Contains(format, " state is outdated"):
		l.log.Debug("engine: server notice", text(format, args))
	default:
		l.log.Info("engine: server warning", text(format, args))
	}
}

// Errorf also looks for the one error that the server only logs: after a failed write, a stream
// accepts no more writes, and writers get no answer.
func (l *serverLog) Errorf(format string, args ...any) {
	what := text(format, args)
	l.log.Error("engine: server error", what)
	if s := strings.ToLower(what.Value.String()); strings.Contains(s, "write error") || strings.Contains(s, "out of space") {
		l.fault(errors.New(what.Value.String()))
	}
}

// Fatalf stores the message and returns, although the server expects it to end the process.
func (l *serverLog) Fatalf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fatal == nil {
		l.fatal = errors.New(text(format, args).Value.String())
	}
}

// Debugf and Tracef are never called, because both levels are off.
func (l *serverLog) Debugf(string, ...any) {}

// Tracef is never called.
func (l *serverLog) Tracef(string, ...any) {}
