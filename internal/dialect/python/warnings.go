package python

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// A Warning is a fault of a file that does not keep it from being loaded.
type Warning struct {
	Text string
	Fix  string
}

// warnings joins warnings and their fixes, as the runner sends them.
func warnings(texts, fixes []string) []Warning {
	var list []Warning
	for i, text := range texts {
		w := Warning{Text: text}
		if i < len(fixes) {
			w.Fix = fixes[i]
		}
		list = append(list, w)
	}
	return list
}

// oddities returns the runner's warnings, and one about a file without hooks.
func (d *description) oddities() []Warning {
	list := warnings(d.Warnings, d.Fixes)
	if len(d.Hooks) > 0 {
		return list
	}
	return append(list, Warning{"no function in it has a decorator, so it is never called",
		"put one of the six decorators before a function, such as @on_final before `async def sign(ctx, text):`"})
}

// misnamed returns the warning about the plugin at path, if its name in __plugin__ belongs to
// another file.
func (d *description) misnamed(path string) []Warning {
	if d.owner == "" {
		return nil
	}
	return []Warning{Misnamed(path, d.Called, d.owner)}
}

// Misnamed returns the warning about the plugin at path, whose name in __plugin__ belongs to the
// file owner: docs/protocols/python.md, row P19.
func Misnamed(path, called, owner string) Warning {
	own := stem(path)
	text := fmt.Sprintf("it calls itself %q, which is the name of %s, so it is called %s", called, owner, own)
	if stem(owner) != called {
		text = fmt.Sprintf("it calls itself %q, and so does %s, which comes before %s and keeps that name, so it is called %s",
			called, owner, filepath.Base(path), own)
	}
	return Warning{text, fmt.Sprintf("change \"name\" in its __plugin__, for example to %q", own)}
}

// note reports warnings about the file to the log and to the findings.
func (p *plugin) note(warnings []Warning) {
	for _, w := range warnings {
		fix := cmp.Or(w.Fix, "correct the file")
		p.log.Warn(w.Text, "fix", fix, dialect.FindingKey, true)
		if p.rt == nil || p.rt.Note == nil {
			continue
		}
		p.rt.Note(dialect.Problem{Path: p.path, Message: w.Text, Fix: fix}, false)
	}
}

// noteSettings reports settings that a plugin of this dialect never gets.
func noteSettings(name string, s dialect.Settings, rt *dialect.Runtime) {
	rt.NoConfig(Name, name, s)
	if s.ToolTimeout > 0 {
		rt.Odd(fmt.Sprintf("tool_timeout of [plugins.%s] has no effect: python plugins have no tools", name), "remove it; `timeout` is for handlers")
	}
}
