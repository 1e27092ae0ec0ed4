package plugtest

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// open opens all plugins. The results are their descriptions, or why they cannot be opened.
func (w *transcriptHost) open(string) (results []string) {
	for _, f := range w.Dialect.Find(w.rt.Env) {
		if f.State != "" {
			results = append(results, f.Name+" "+string(f.State)+": "+f.Err.Error())
			continue
		}
		p, err := w.Dialect.Open(w.Context(), f, dialect.Settings{Config: w.config}, w.rt)
		if err != nil {
			results = append(results, f.Name+" fails: "+err.Error())
			continue
		}
		w.plugins = append(w.plugins, p)
		results = append(results, described(p.Info()))
	}
	return results
}

// described returns the description of a plugin as JSON.
func described(i dialect.Info) string {
	type tool struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	}
	said := struct {
		Name        string   `json:"name"`
		Version     string   `json:"version,omitempty"`
		Description string   `json:"description,omitempty"`
		Kinds       []string `json:"kinds,omitempty"`
		Hooks       []string `json:"hooks,omitempty"`
		Tools       []tool   `json:"tools,omitempty"`
		Commands    []string `json:"commands,omitempty"`
		Methods     []string `json:"methods,omitempty"`
		Priority    int      `json:"priority"`
	}{Name: i.Name, Version: i.Version, Description: i.Description, Kinds: i.Kinds, Hooks: i.Hooks, Commands: i.Commands,
		Methods: i.Methods, Priority: i.Priority}
	for _, t := range i.Tools {
		said.Tools = append(said.Tools, tool{t.Name, t.Parameters})
	}
	return jsonText(said)
}

func jsonText(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own values
	}
	return string(raw)
}

// fire fires an event: fire POINT PAYLOAD. The results are the verdict and the payload, then
// reason, suggestion and errors if there are any.
func (w *transcriptHost) fire(rest string) []string {
	point, payload, _ := strings.Cut(rest, " ")
	bus := hook.Bus{Failures: dialect.Failures}
	w.must(bus.Set(w.hooks()))
	out, err := bus.Fire(hook.WithRequest(w.Context(), "request"), hook.Point(point), json.RawMessage(payload))
	if out == nil {
		w.Fatal(err)
	}
	results := []string{string(out.Verdict) + " " + string(out.Payload)}
	if err != nil {
		results[0] = "abort" // instead of the verdict; the reason follows
	}
	if out.Reason != "" {
		results = append(results, "reason "+out.Reason)
	}
	if out.Suggest != "" {
		results = append(results, "suggest "+out.Suggest)
	}
	for i := range out.Steps {
		if e := out.Steps[i].Err; e != nil {
			results = append(results, "error "+string(e.Kind)+" "+e.Cause())
		}
	}
	return results
}

// one returns the only plugin.
func (w *transcriptHost) one() dialect.Plugin {
	w.Helper()
	if len(w.plugins) != 1 {
		w.Fatalf("%d plugins are open", len(w.plugins))
	}
	return w.plugins[0]
}

// tool calls a tool: tool NAME ARGUMENTS.
func (w *transcriptHost) tool(rest string) []string {
	name, arguments, _ := strings.Cut(rest, " ")
	result, err := w.one().(dialect.ToolCaller).CallTool(w.Context(), name, json.RawMessage(arguments))
	if err != nil {
		return []string{"error " + err.Error()}
	}
	return []string{jsonText(result)}
}

// method calls a method: method NAME PARAMS.
func (w *transcriptHost) method(rest string) []string {
	name, params, _ := strings.Cut(rest, " ")
	result, err := w.one().(dialect.MethodCaller).CallMethod(w.Context(), name, json.RawMessage(params))
	if err != nil {
		return []string{"error " + err.Error()}
	}
	return []string{string(result)}
}

// notifications lists the plugin's notifications. It waits for the first one, because the host
// passes them on independently of the answers.
func (w *transcriptHost) notifications(string) (results []string) {
	for range 3000 {
		for _, n := range w.one().(dialect.Notifier).Notifications() {
			results = append(results, n.Method+" "+string(n.Params))
		}
		if results != nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return results
}

// command runs a plugin's own command: command NAME ARGUMENTS, which are a JSON list. The results
// are its exit code and its output.
func (w *transcriptHost) command(rest string) []string {
	name, list, _ := strings.Cut(rest, " ")
	c := dialect.Command{Name: name}
	w.must(json.Unmarshal([]byte(list), &c.Args))
	var out, errOut bytes.Buffer
	c.Out, c.ErrOut = &out, &errOut
	code, err := w.one().(dialect.Commander).RunCommand(w.Context(), c)
	if err != nil {
		return []string{"error " + err.Error()}
	}
	return []string{jsonText(code), "stdout " + jsonText(out.String()), "stderr " + jsonText(errOut.String())}
}

// health checks the health of the plugin.
func (w *transcriptHost) health(string) []string { return []string{w.Health(w.Context(), w.one())} }

// close closes the plugins.
func (w *transcriptHost) close(string) (results []string) {
	for _, p := range w.plugins {
		if err := p.Close(context.Background()); err != nil {
			results = append(results, err.Error())
		}
	}
	w.plugins = nil
	return results
}
