package cli

import (
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// findingsOf returns the findings of one severity.
func findingsOf(all []pluginhost.Finding, s pluginhost.Severity) []pluginhost.Finding {
	var out []pluginhost.Finding
	for _, f := range all {
		if f.Severity == s {
			out = append(out, f)
		}
	}
	return out
}

// printFindings prints each finding with its fix, after a blank line.
func (a *app) printFindings(findings []pluginhost.Finding) {
	o := a.screen()
	for _, f := range findings {
		head := o.Paint(severityStyle(f.Severity), string(f.Severity))
		if f.Plugin != "" {
			head += " " + o.Paint(render.StyleBold, f.Plugin)
		}
		if f.Dialect != "" {
			head += o.Paint(render.StyleDim, " ("+f.Dialect+")")
		}
		a.printf("\n%s\n", head)
		if f.Where != "" {
			a.printf("  %s\n", o.Paint(render.StyleDim, f.Where))
		}
		a.printf("%s\n", problemText(o, f.Problem))
		if f.Fix != "" {
			a.printf("%s\n", fixText(o, f.Fix))
		}
	}
}

func severityStyle(s pluginhost.Severity) render.Style {
	switch s {
	case pluginhost.SeverityError:
		return render.StyleRed
	case pluginhost.SeverityWarning:
		return render.StyleYellow
	}
	return render.StyleBlue
}

// problemJSON is an error in a file, in JSON.
type problemJSON struct {
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
}

func configProblems(e *config.Error) []problemJSON {
	out := make([]problemJSON, len(e.Problems))
	for i, p := range e.Problems {
		out[i] = problemJSON{Path: p.File, Line: p.Line, Column: p.Column, Message: p.Message, Fix: p.Fix}
	}
	return out
}
