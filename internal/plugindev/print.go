package plugindev

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/render"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// Lines returns an event as text for people. Everything that the plugin wrote is made safe to be
// shown.
func Lines(e Event, o render.Options) []string {
	p := printer{o}
	switch e.Event {
	case Ready:
		return p.ready(e)
	case Broken:
		return p.broken(e)
	case Changed:
		return []string{p.head(e, render.StyleCyan, "changed", strings.Join(short(e.Files), ", "))}
	case Fired:
		return p.fired(e)
	case Called:
		return p.called(e)
	case Targets:
		return p.targets(e.List)
	case Stderr:
		return []string{p.o.Paint(render.StyleDim, "  stderr │ ") + render.Line(e.Text)}
	case Denied:
		text := p.o.Paint(render.StyleYellow, "  denied │ ") + render.Line(e.Text)
		if e.Grant != "" {
			text += p.o.Paint(render.StyleDim, "  ("+e.Grant+" would allow it)")
		}
		return []string{text}
	case Notification:
		return []string{p.o.Paint(render.StyleBlue, "  said   │ ") + render.Line(e.Text+" "+string(render.SafeJSON(e.Params)))}
	case Logged:
		return p.logged(e)
	case Failure:
		return p.fault(p.head(e, render.StyleRed, "error", e.Error), e.Fix)
	}
	return []string{p.head(e, render.StyleDim, string(e.Event), "nothing is left running")}
}

type printer struct{ o render.Options }

// head begins a block: the time, the event, and its subject.
func (p printer) head(e Event, style render.Style, word, rest string) string {
	return p.o.Paint(render.StyleDim, e.Time.Format("15:04:05")) + " " + p.o.Paint(style, word) + " " + render.Line(rest)
}

func (p printer) fault(line, fix string) []string {
	if fix == "" {
		return []string{line}
	}
	return []string{line, "  " + p.o.Paint(render.StyleGreen, "fix:") + " " + render.Line(fix)}
}

func (p printer) logged(e Event) []string {
	style := render.StyleDim
	if e.Level == "warning" || e.Level == "error" {
		style = render.StyleYellow
	}
	text := e.Text
	if e.Error != "" {
		text += ": " + e.Error
	}
	return p.fault(p.o.Paint(style, fmt.Sprintf("  %-6s │ ", cmp.Or(map[string]string{"warning": "warn"}[e.Level], e.Level)))+render.Line(text), e.Fix)
}

func (p printer) ready(e Event) []string {
	name := strings.TrimSpace(e.Plugin.Name + " " + e.Plugin.Version)
	line := fmt.Sprintf("%s (%s), %s", name, e.Plugin.Dialect, counted(e.Plugin))
	return []string{p.head(e, render.StyleGreen, "ready", line) + p.o.Paint(render.StyleDim, "  "+render.Duration(e.Duration))}
}

// counted says what a plugin has.
func counted(p *pluginhost.PluginInfo) string {
	var parts []string
	for _, c := range []struct {
		n    int
		noun string
	}{{len(p.Hooks), "hook"}, {len(p.Tools), "tool"}, {len(p.Methods), "method"}, {len(p.Commands), "command"}} {
		if c.n > 0 {
			parts = append(parts, render.Count(c.n, c.noun))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "no hooks and no tools")
}

func (p printer) broken(e Event) []string {
	out := []string{p.head(e, render.StyleRed, "broken", "it is started again when its files change")}
	for _, problem := range e.Problems {
		out = append(out, p.fault("  "+render.Line(placed(problem)), problem.Fix)...)
	}
	return out
}

// placed returns a problem with its file, line and column in the form that editors understand.
func placed(p dialect.Problem) string {
	switch {
	case p.Line > 0:
		return fmt.Sprintf("%s:%d:%d: %s", p.Path, p.Line, p.Column, p.Message)
	case p.Path != "":
		return p.Path + ": " + p.Message
	}
	return p.Message
}

func (p printer) fired(e Event) []string {
	out := []string{p.head(e, render.StyleBold, "fire", e.Target+sampled(e))}
	if e.Trace == nil {
		return append(out, "  "+p.o.Paint(render.StyleRed, e.Error))
	}
	var b bytes.Buffer
	o := p.o
	o.Wire = true
	_ = render.Trace(&b, e.Trace.Outcome, o)     // a buffer accepts everything
	_, trace, _ := strings.Cut(b.String(), "\n") // its first line repeats the point
	return append(out, strings.Split(strings.TrimSuffix(trace, "\n"), "\n")...)
}

func sampled(e Event) string {
	if e.Sample {
		return " with a sample"
	}
	return ""
}

func (p printer) called(e Event) []string {
	out := []string{p.head(e, render.StyleBold, "call", e.Target+sampled(e)) + p.o.Paint(render.StyleDim, "  "+render.Duration(e.Duration))}
	out = append(out, p.labelled("sent", string(render.SafeJSON(rawjson.Compact(e.Payload))))...)
	switch {
	case e.Result != nil && e.Result.Success:
		return append(out, p.labelled("result", e.Result.Result)...)
	case e.Answer != nil:
		return append(out, p.labelled("result", string(render.SafeJSON(e.Answer)))...)
	}
	return append(out, "  "+p.o.Paint(render.StyleRed, "failed")+"  "+render.Line(e.Error))
}

// mostLines is how many lines of a result are shown; -v shows all.
const mostLines = 20

// labelled returns foreign text after a label, its further lines below the first.
func (p printer) labelled(label, text string) []string {
	lines := strings.Split(strings.TrimRight(render.Block(text), "\n"), "\n")
	var out []string
	for i, line := range lines {
		if i == mostLines && !p.o.Verbose {
			return append(out, p.o.Paint(render.StyleDim, "  … and "+render.Count(len(lines)-i, "more line")))
		}
		if i > 0 {
			label = ""
		}
		out = append(out, p.o.Paint(render.StyleDim, fmt.Sprintf("  %-6s  ", label))+line)
	}
	return out
}

func (p printer) targets(list []Target) []string {
	var out []string
	for _, t := range list {
		line := "  " + t.Verb + " " + t.Name
		if t.Hook != "" {
			line += " (" + t.Hook + strings.TrimSuffix(" for "+t.For, " for ") + ")"
		}
		out = append(out, p.o.Paint(render.StyleBold, line), p.o.Paint(render.StyleDim, "    "+string(render.SafeJSON(t.Sample))))
	}
	return out
}

// short returns the last names of the first files, which is enough to recognize them, and how many
// more there are.
func short(files []string) []string {
	const shown = 3
	var out []string
	for i, f := range files {
		if i == shown {
			return append(out, fmt.Sprintf("and %d more", len(files)-i))
		}
		out = append(out, filepath.Base(f))
	}
	return out
}
