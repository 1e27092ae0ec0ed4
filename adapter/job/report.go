package job

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/notify"
	"github.com/patchbay-dev/patchbay/rawjson"
)

const (
	closeTimeout = 20 * time.Second // how long Close waits for queued messages
	// mostCloseTimeout is how long it waits at most if the manifest gives a plugin more time.
	mostCloseTimeout = 5 * time.Minute
	// killTime is for the end of a plugin whose time is up.
	killTime = 10 * time.Second
)

// A Reporter sends the events of jobs to the on_failure plugins and to the notifiers. Delivery is
// best effort: a failure is logged, and a run never waits. Each recipient gets its events in order.
type Reporter struct {
	host     Host
	options  notify.Options
	dispatch *notify.Dispatch
	log      *slog.Logger

	mu      sync.Mutex    // protects the field below
	longest time.Duration // the longest Timeout of a route so far
}

// ReporterOptions configure a [Reporter].
type ReporterOptions struct {
	Host     Host
	Notify   notify.Options
	Dispatch notify.DispatchOptions
	Logger   *slog.Logger // nil discards
}

// NewReporter makes a reporter. Close it with [Reporter.Close].
func NewReporter(o ReporterOptions) *Reporter {
	return &Reporter{host: o.Host, options: o.Notify, dispatch: notify.NewDispatch(o.Dispatch), log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler))}
}

// Close waits until the queued messages are sent, at most closeTimeout, or as long as an entry
// gives its plugin.
func (t *Reporter) Close() error {
	t.mu.Lock()
	wait := min(max(closeTimeout, t.longest), mostCloseTimeout)
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	return t.dispatch.Close(ctx)
}

// Report queues the messages for an event, and returns immediately.
func (t *Reporter) Report(n Report) {
	for _, r := range t.Routes(&n) {
		t.mu.Lock()
		t.longest = max(t.longest, r.Timeout)
		t.mu.Unlock()
		t.dispatch.Send(n.Message(), r)
	}
}

// Routes returns the recipients of an event: those that the manifest names, and the connected
// plugins.
func (t *Reporter) Routes(n *Report) []notify.Route {
	m, e := n.Manifest, n.Event
	host := hostOf(m, t.host)
	var routes []notify.Route
	for i := range m.OnFailure {
		if h := &m.OnFailure[i]; wantsFailure(h, e) {
			routes = append(routes, notify.Route{Name: fmt.Sprintf("on_failure[%d] %s", i, h.Plugin), Sender: pluginSender{host: host, hook: h, shown: h.Config}, Timeout: sendTimeout(h.Timeout)})
		}
	}
	for i := range m.Notifiers {
		d := &m.Notifiers[i]
		if !d.Wants(e) || n.Merged && d.merges() {
			continue
		}
		sender, err := t.sender(host, d)
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			t.log.Debug("skipping a notifier that this system does not support", "agent", m.Agent.Name, "notifier", d.String())
		case err != nil:
			text, fix := explained(err)
			t.log.Warn("cannot use a notifier", "agent", m.Agent.Name, "notifier", d.String(), "err", text, "fix", fix)
		default:
			routes = append(routes, notify.Route{Name: fmt.Sprintf("notifiers[%d] %s", i, d.Driver), Sender: sender, Every: d.RateLimit, Timeout: sendTimeout(d.Timeout)})
		}
	}
	// The plugins of other dialects that the configuration connects to the point.
	return append(routes, notify.Route{Name: ConnectedRoute, Sender: pluginSender{host: host}})
}

// sendTimeout returns how long sending to a plugin may take, or 0 if its entry gives it no time of
// its own.
func sendTimeout(own time.Duration) time.Duration {
	if own == 0 {
		return 0
	}
	return own + killTime
}

// ConnectedRoute is the name of the route to the plugins that the configuration connects to the
// point.
const ConnectedRoute = "connected plugins"

// sender returns the sender of a notifier.
func (t *Reporter) sender(host Host, d *Notifier) (notify.Sender, error) {
	if d.Driver != DriverPlugin {
		return notify.New(string(d.Driver), d.Settings, t.options)
	}
	h, err := d.Hook()
	if err != nil {
		return nil, err
	}
	// ${NAME} in a config comes from the secrets or the environment: docs/jobs.md, "Notifiers".
	written := h.Config
	var hide func(string) string
	if h.Config, hide, err = notify.ExpandJSON(written, t.options.Lookup); err != nil {
		return nil, err
	}
	return pluginSender{host: host, hook: h, shown: written, hide: hide}, nil
}

// Hook returns a notifier with the driver plugin as a Hook.
func (n *Notifier) Hook() (*Hook, error) {
	h := &Hook{Config: json.RawMessage("{}"), Events: n.Events, Timeout: n.Timeout, At: n.At}
	h.Plugin, _ = n.Settings["name"].(string) // the manifest was checked
	if config, ok := n.Settings["config"]; ok {
		raw, err := rawjson.Marshal(config)
		if err != nil {
			return nil, err
		}
		h.Config = raw
	}
	return h, nil
}

// wantsFailure reports whether a plugin of on_failure gets an event. A plugin that lists no events
// gets every event except success.
func wantsFailure(h *Hook, e Event) bool {
	if len(h.Events) > 0 {
		return h.Wants(e)
	}
	return e != Success
}

// A pluginSender calls the plugin that hook names. Without a hook it calls the plugins that are
// connected to the point.
type pluginSender struct {
	host  Host
	hook  *Hook
	shown json.RawMessage     // the hook's config as the manifest has it, with ${NAME} unexpanded
	hide  func(string) string // removes the values of ${NAME} from a text; nil: the config has none
}

// Send fires the point.
func (s pluginSender) Send(ctx context.Context, m notify.Message) error {
	if s.hook == nil {
		out, err := s.host.Fire(hook.WithChoice(ctx, hook.Choice{Dialect: PluginDialect}), hook.JobNotify, s.given(m, nil))
		return s.failure(out, err)
	}
	out, err := ask(ctx, s.host, hook.JobNotify, s.hook, s.given(m, s.hook.Config))
	return s.failure(out, err)
}

// failure returns err, or the error of the first step that failed. A plugin may repeat its config
// in an error, for example the address that it could not reach. So failure removes the values of
// variables from the text.
func (s pluginSender) failure(out *hook.Outcome, err error) error {
	if err = errors.Join(failures(out, err)...); err == nil {
		return nil
	}
	text := err.Error()
	if s.hide != nil {
		text = s.hide(text)
	}
	return &unsent{err, text}
}

// An unsent is the failure of a plugin to send a message.
type unsent struct {
	err  error
	text string // of err, without secrets
}

func (e *unsent) Error() string { return e.text }
func (e *unsent) Unwrap() error { return e.err }

// Fix returns what to do about the failure, or "".
func (e *unsent) Fix() string { return fixOf(e.err) }

// Describe returns the event that the plugin would get. Variables in its config are not expanded,
// since they may be secrets.
func (s pluginSender) Describe(m notify.Message) Given { return s.given(m, s.shown) }

func (s pluginSender) given(m notify.Message, config json.RawMessage) Given {
	return Given{Agent: m.Agent, Schedule: m.Schedule, Event: Event(m.Event), Message: text(m), Config: configOr(config)}
}

// Given is the event that a plugin gets as a sink or as a notifier.
type Given struct {
	Agent    string          `json:"agent"`
	Schedule string          `json:"schedule"`
	Event    Event           `json:"event"`
	Message  string          `json:"message"`
	Config   json.RawMessage `json:"config"`
}

// GivenToSink returns the event that a sink of the manifest gets after a success.
func (h *Hook) GivenToSink(m *Manifest, s *Schedule, output string) Given {
	return Given{Agent: m.Agent.Name, Schedule: s.ID, Event: Success, Message: output, Config: configOr(h.Config)}
}

// configOr returns config, or an empty object if there is none.
func configOr(config json.RawMessage) json.RawMessage {
	if len(config) == 0 {
		return json.RawMessage("{}")
	}
	return config
}

// text formats a message for plugins. It includes the suggestion of the preflight that refused:
// docs/protocols/dotagent.md, row D36.
func text(m notify.Message) string {
	lines := []string{m.Headline()}
	if m.Body != "" {
		lines = append(lines, m.Body)
	}
	if m.Suggest != "" {
		lines = append(lines, "Suggestion: "+m.Suggest)
	}
	return strings.Join(lines, "\n")
}

// Message returns the event in the form that package notify sends.
func (n *Report) Message() notify.Message {
	m := notify.Message{Agent: n.Manifest.Agent.Name, Schedule: n.Run.Schedule, Event: string(n.Event), Suggest: n.Suggest,
		Attempt: n.Attempt, Attempts: n.Most, Time: n.At, Body: n.Error, Sink: n.Sink}
	if n.Event == Success || n.Event == RunRecovered {
		m.Body = strings.TrimSpace(n.Output)
	}
	if n.Exit != nil && !strings.HasPrefix(n.Error, "exit code") { // Error names it already
		m.ExitCode = *n.Exit
	}
	if !n.NextAt.IsZero() {
		m.Body = strings.TrimSpace(m.Body + "\nThe next attempt is at " + n.NextAt.Format("15:04:05 MST"))
	}
	return m
}
