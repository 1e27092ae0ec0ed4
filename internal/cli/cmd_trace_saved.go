package cli

import (
	"context"
	"errors"
	"io"

	"github.com/patchbay-dev/patchbay/internal/daemon"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/recording"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// exportRecording writes events of the journal to a file for `trace replay`. No plugin is started.
func (a *app) exportRecording(ctx context.Context, file string, q daemon.TraceQuery) error {
	at := &recording.Place{}
	options := a.options(func(c pluginhost.Candidate) bool {
		if c.Err == nil {
			at.Plugins = append(at.Plugins, recording.Plugin{Name: c.Name, Dialect: c.Dialect, Path: c.Path})
		}
		return false
	})
	return a.withOptions(ctx, options, func(host *pluginhost.Host) error {
		at.Host = host
		return a.withRecords(ctx, func(r *daemon.Records) error { return a.saveRecording(ctx, file, r, q, at) })
	})
}

func (a *app) saveRecording(ctx context.Context, file string, r *daemon.Records, q daemon.TraceQuery, at *recording.Place) error {
	if err := wholeSession(ctx, r, &q); err != nil {
		return err
	}
	to, err := a.createRecording(file, recording.Options{Command: append([]string{"trace", "export"}, queryWords(&q)...)})
	if err != nil {
		return cannotRecord(err)
	}
	if err := r.SaveTraces(ctx, to, q, at); err != nil {
		return errors.Join(err, to.Discard())
	}
	s, err := to.Close(false)
	switch {
	case err != nil:
		return err
	case s.Bytes == 0:
		return &problem{kind: kindNotFound, err: errors.New("there is no such event for which a plugin was called"), fix: traceListFix}
	case file == "-":
		return nil
	case a.flags.json:
		return a.printJSON(s)
	}
	a.printf("%s\n", render.Line(recordedLine(s)))
	return nil
}

// createRecording creates a recording in a file, or on stdout.
func (a *app) createRecording(file string, o recording.Options) (*recording.Recorder, error) {
	if file == "-" {
		return recording.NewSaver(safeLines{a.out}, o), nil
	}
	return recording.Create(a.path(file), o)
}

// safeLines writes lines of JSON that are safe for a terminal.
type safeLines struct{ to io.Writer }

func (s safeLines) Write(line []byte) (int, error) {
	if _, err := s.to.Write(render.SafeJSON(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// queryWords returns the flags of a query.
func queryWords(q *daemon.TraceQuery) []string {
	var words []string
	for _, f := range [][2]string{{"--session", q.Session}, {"--turn", q.Turn}, {"--point", string(q.Point)}, {"--plugin", q.Plugin}} {
		if f[1] != "" {
			words = append(words, f[0], f[1])
		}
	}
	if q.Failed {
		words = append(words, "--failed")
	}
	return words
}
