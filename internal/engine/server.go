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
	// maxValue is the largest value of an embedded engine. The server warns of payloads above 8
	// MiB.
	maxValue = 8 << 20
	// headroom is for the headers that go with a value: an id, a revision, a time to live. All of
	// ours have a bound.
	headroom = 1 << 10
	// maxMemory is for what the server keeps in memory only: the places of those who follow a
	// stream.
	maxMemory = 64 << 20
	// maxStore is no limit of ours. Left at 0 the server would take three quarters of what is free
	// on the disk right now, and refuse streams it has when the disk fills up.
	maxStore = 1 << 44
	// startWait bounds the start of a server, which reads all its streams.
	startWait = 30 * time.Second
)

// startServer starts a server on a directory. It listens nowhere; InProcessConn is the way in. It
// calls fault when it can not write any more, and warned with every warning of the server.
func startServer(dir string, log *slog.Logger, fault func(error), warned func(format string, args []any)) (*server.Server, error) {
	srv, err := server.NewServer(&server.Options{
		ServerName:             "patchbay",
		DontListen:             true,
		NoSigs:                 true, // signals are the program's affair
		NoLog:                  true, // it gets a logger below
		JetStream:              true,
		StoreDir:               dir,
		SyncAlways:             true, // an acknowledged write is on disk
		JetStreamMaxMemory:     maxMemory,
		JetStreamMaxStore:      maxStore,
		MaxPayload:             maxValue + headroom,
		MaxPending:             8 * maxValue, // several of the largest messages may be under way to one connection
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

// A serverLog passes the server's log on. The server has much to say that matters to those who run
// clusters of it; for an embedded one only warnings and errors do.
type serverLog struct {
	log    *slog.Logger
	fault  func(error)
	warned func(format string, args []any) // nil: nobody listens

	mu    sync.Mutex // protects fatal
	fatal error      // the first fatal message: why the server did not start
}

func (l *serverLog) fatalError() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fatal
}

// text cuts what the server said; it may quote what clients sent.
func text(format string, args []any) slog.Attr {
	s := fmt.Sprintf(format, args...)
	return slog.String("text", s[:min(len(s), 500)])
}

// Noticef implements [server.Logger], as do the others.
func (l *serverLog) Noticef(format string, args ...any) {
	l.log.Debug("engine: server notice", text(format, args))
}

// Warnf drops the warning of our own choice of the largest payload.
func (l *serverLog) Warnf(format string, args ...any) {
	if l.warned != nil {
		l.warned(format, args)
	}
	if !strings.HasPrefix(format, "Maximum payloads over") {
		l.log.Info("engine: server warning", text(format, args)) // such as that it had to look through its files after a crash, which it mends
	}
}

// Errorf also listens for the one error that the server tells nobody but its log: after a write
// that failed, a stream takes no more, and whoever wants to write there gets no answer.
func (l *serverLog) Errorf(format string, args ...any) {
	what := text(format, args)
	l.log.Error("engine: server error", what)
	if s := strings.ToLower(what.Value.String()); strings.Contains(s, "write error") || strings.Contains(s, "out of space") {
		l.fault(errors.New(what.Value.String()))
	}
}

// Fatalf keeps the message, because the server goes on as if we had ended the process.
func (l *serverLog) Fatalf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fatal == nil {
		l.fatal = errors.New(text(format, args).Value.String())
	}
}

// Debugf and Tracef are never called: the server was told so.
func (l *serverLog) Debugf(string, ...any) {}

// Tracef is never called.
func (l *serverLog) Tracef(string, ...any) {}
