package cli

import (
	"fmt"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/render"
	"github.com/patchbay-dev/patchbay/internal/trust"
)

// addDiffs fills in the diff of each change.
func addDiffs(changes []trust.FileChange) {
	for i := range changes {
		changes[i].Diff = render.Unified(changes[i].Old, changes[i].New)
	}
}

// printFileChanges shows the changed files of a plugin, with diffs of their texts.
func (a *app) printFileChanges(changes []trust.FileChange) {
	o := a.screen()
	for _, c := range changes {
		a.printf("  %s\n", changeLine(o, c.Change))
		if note := stateNote(c); note != "" {
			a.printf("    %s\n", o.Paint(render.StyleDim, render.Line(note)))
		}
		_ = render.PrintUnified(a.out, c.Diff, "    ", o) // a.out keeps the error
	}
}

// changeLine returns the line of one file in a list of changes.
func changeLine(o render.Options, c trust.Change) string {
	path := render.Line(c.Path)
	switch c.Kind {
	case "added":
		return o.Paint(render.StyleGreen, "+ "+path)
	case "removed":
		return o.Paint(render.StyleRed, "- "+path)
	}
	return o.Paint(render.StyleYellow, "~ "+path)
}

// stateNote returns what the diff of a file does not show: its new kind, or sizes and checksums
// instead of a text.
func stateNote(c trust.FileChange) string {
	var notes []string
	if c.Before != nil && c.Now != nil && c.Before.Mode != c.Now.Mode {
		notes = append(notes, fmt.Sprintf("was %s, is %s", kindOf(c.Before.Mode), kindOf(c.Now.Mode)))
	}
	if c.Now != nil && c.Before == nil && c.Now.Mode != trust.Plain {
		notes = append(notes, kindOf(c.Now.Mode))
	}
	if c.Why != "" {
		notes = append(notes, "not shown: "+c.Why, stateText(c.Before)+" → "+stateText(c.Now))
	}
	return strings.Join(notes, "; ")
}

func kindOf(m trust.Mode) string {
	switch m {
	case trust.Executable:
		return "a program"
	case trust.Link:
		return "a link"
	}
	return "a plain file"
}

// stateText returns the size and the checksum of a file.
func stateText(s *trust.FileState) string {
	switch {
	case s == nil:
		return "nothing"
	case s.Size == nil:
		return "sha256 " + s.SHA256
	}
	return fmt.Sprintf("%d bytes, sha256 %s", *s.Size, s.SHA256)
}
