package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// Logs reads what plugins wrote to stderr, and what Patchbay logged about them, without secrets:
// `plugin logs`.
type Logs interface {
	// Tail returns the last lines of a plugin's log. ErrNoPlugin.
	Tail(ctx context.Context, name string, most int) (PluginLog, error)
	// Follow calls f with the last lines, then with each new one. It returns when ctx ends, or when
	// f returns an error, which it returns. ErrNoPlugin.
	Follow(ctx context.Context, name string, most int, f func(LogLine) error) error
}

// A PluginLog is the end of a plugin's log.
type PluginLog struct {
	Plugin  string    `json:"plugin" doc:"The plugin's name." example:"notes"`
	Dialect string    `json:"dialect" doc:"Its protocol." example:"kaged"`
	File    string    `json:"file" doc:"The log file." example:"/home/mira/.local/state/patchbay/plugins/kaged/notes.log"`
	Lines   []LogLine `json:"lines" doc:"The oldest first."`
}

// A LogLine is one line of a plugin's log.
type LogLine struct {
	Time  time.Time `json:"time" doc:"When it was written." example:"2026-11-16T06:00:19Z"`
	Level string    `json:"level" enum:"stderr,info,warning,error" doc:"stderr: the plugin wrote it. Other levels: Patchbay logged it about the plugin." example:"stderr"`
	Text  string    `json:"text" doc:"The line, without secrets; long lines are cut." example:"out of ink"`
}

type logQuery struct {
	Name   string `path:"name" maxLength:"256" doc:"The plugin's name, of any dialect." example:"notes"`
	Tail   int    `query:"tail" minimum:"1" maximum:"1000" default:"200" doc:"The number of lines, counted from the end." example:"50"`
	Accept string `header:"Accept" hidden:"true"`
}

func (a *api) addLogs() {
	add(a, route{method: "GET", path: "/v1/plugins/{name}/logs", id: "plugin-logs", tag: "inspect", summary: "Show what a plugin has written to stderr",
		doc:   "Also shows what Patchbay has logged about it. With `Accept: text/event-stream` each line is an event `line`: first the last lines, then each new one.",
		shape: PluginLog{}, events: true, errors: []int{404, 422, 503}}, a.logs)
}

func (a *api) logs(ctx context.Context, in *logQuery) (*huma.StreamResponse, error) {
	log, err := a.Logs.Tail(ctx, in.Name, in.Tail) // an unknown plugin is an error for a stream too
	if err != nil {
		return nil, named(err, in.Name)
	}
	if wantsEvents(in.Accept) {
		return streamed(func(w http.ResponseWriter, r *http.Request) { a.streamLogs(w, r, in) }), nil
	}
	out, err := encoded(log, nil)
	if err != nil {
		return nil, err
	}
	return atOnce(out.Body), nil
}

// streamLogs sends lines until the client leaves.
func (a *api) streamLogs(w http.ResponseWriter, r *http.Request, in *logQuery) {
	leave, ok := a.enter(w)
	if !ok {
		return
	}
	defer leave()
	s, ctx := a.open(w, r, nil)
	defer a.closed(s)
	err := a.Logs.Follow(ctx, in.Name, in.Tail, func(l LogLine) error {
		data, err := json.Marshal(l)
		if err != nil {
			return err
		}
		return s.send(Event{Kind: "line", Data: data})
	})
	if err != nil && ctx.Err() == nil {
		s.fail(a.problem(named(err, in.Name), "stream of a log"))
	}
}
