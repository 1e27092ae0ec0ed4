package tui

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/huh/v2"
	"charm.land/lipgloss/v2"

	"github.com/patchbay-dev/patchbay/internal/pattern"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// hooks lists the hooks of a python plugin: docs/protocols/python.md, rows P52 to P57.
var hooks = []struct{ name, about string }{
	{"on_begin", "when a turn begins"},
	{"on_tool_call", "before a tool runs; may change the call"},
	{"on_resolve_tool", "answer in a tool's place"},
	{"on_tool_result", "after a tool ran; may change the result"},
	{"on_final", "change the reply before it is shown"},
	{"on_done", "after a turn"},
}

// hookOptions lists the hooks, with explanations if there is room.
func hookOptions(l look) []huh.Option[string] {
	const room = 70 // columns: the longest explanation and huh's marks
	var out []huh.Option[string]
	for _, h := range hooks {
		text := h.name
		if l.cols() >= room {
			text = fmt.Sprintf("%-15s  %s", h.name, h.about)
		}
		out = append(out, huh.NewOption(text, h.name))
	}
	return out
}

// pluginName matches the names that a python plugin may have: the names of files that
// internal/dialect/python accepts.
var pluginName = pattern.New(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$`)

func checkName(name string) error {
	if !pluginName.MatchString(name) {
		return errors.New("use letters, digits, _ and -, at most 64 of them")
	}
	return nil
}

func checkDescription(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("say in a sentence what it should do")
	}
	return nil
}

// firstField is the key of the first question. A step back from it leaves the form.
const firstField = "name"

// ask asks the three questions, or returns to them.
func (w *wizard) ask() tea.Cmd {
	w.step, w.problem = stepAsk, ""
	return w.show(
		huh.NewGroup(huh.NewInput().Key(firstField).Title("Name of the plugin").Placeholder("my_plugin").
			Value(&w.draft.Name).Validate(checkName)),
		huh.NewGroup(huh.NewText().Title("What should it do?").Lines(4).ExternalEditor(false).
			Placeholder("e.g. add the tools that were used to each reply").
			Value(&w.draft.Description).Validate(checkDescription)),
		huh.NewGroup(huh.NewMultiSelect[string]().Title("Which hooks?").
			Description("x chooses; choose none to let the model choose").
			Options(hookOptions(w.look)...).Height(len(hooks)+2).Filterable(false).Value(&w.draft.Hooks)),
	)
}

// The choices in the review.
const (
	chooseSave    = "save"
	chooseEdit    = "edit"
	chooseAgain   = "again"
	chooseAsk     = "ask"
	chooseDiscard = "discard"
	chooseReplace = "replace"
	chooseBack    = "back"
)

// review asks what to do with the source. An invalid source cannot be saved.
func (w *wizard) review() tea.Cmd {
	w.step, w.editor = stepReview, textarea.Model{}
	var options []huh.Option[string]
	add := func(text, value string) { options = append(options, huh.NewOption(text, value)) }
	if w.content != "" && w.valid {
		add("Save and load it", chooseSave)
	}
	if w.content != "" {
		add("Edit it", chooseEdit)
		add("Write it again", chooseAgain)
	}
	add("Change the answers", chooseAsk)
	add("Discard it", chooseDiscard)
	w.next = options[0].Value
	return w.show(huh.NewGroup(huh.NewSelect[string]().Title(w.draft.Name + ".py").
		Options(options...).Value(&w.next)))
}

// replace asks before a file is replaced. The first choice keeps it.
func (w *wizard) replace(path string) tea.Cmd {
	w.step, w.next = stepReplace, chooseBack
	return w.show(huh.NewGroup(huh.NewSelect[string]().Title("There is a plugin of that name already").Description(render.Line(path)).
		Options(huh.NewOption("Keep it, and go back", chooseBack),
			huh.NewOption("Save this one under another name", chooseAsk),
			huh.NewOption("Replace it", chooseReplace)).Value(&w.next)))
}

// change asks what should be different, and proposes what was wrong.
func (w *wizard) change() tea.Cmd {
	w.step = stepChange
	if w.draft.Feedback == "" && !w.valid {
		w.draft.Feedback = w.problem
	}
	return w.show(huh.NewGroup(huh.NewText().Title("What should be different?").Lines(4).ExternalEditor(false).
		Placeholder("nothing in particular: just try again").Value(&w.draft.Feedback)))
}

// show makes the form of a step in the size of the screen.
func (w *wizard) show(groups ...*huh.Group) tea.Cmd {
	keys := huh.NewDefaultKeyMap()
	keys.Quit.SetEnabled(false) // the screen handles Ctrl-C and Esc
	keys.Select.Filter.SetEnabled(false)
	w.form = huh.NewForm(groups...).WithTheme(huh.ThemeFunc(formTheme)).WithKeyMap(keys).WithShowHelp(true)
	w.resize(w.look)
	return w.form.Init()
}

// maxForm is the width of the widest form: longer lines are hard to read.
const maxForm = 90

func (w *wizard) resize(l look) {
	w.look = l
	if w.form != nil {
		w.form = w.form.WithWidth(min(l.cols(), maxForm))
	}
	if w.step == stepEdit {
		w.editor.SetWidth(l.cols())
		w.editor.SetHeight(max(l.liveRoom()-6, 1))
	}
}

// formTheme uses only the terminal's own colours.
func formTheme(isDark bool) *huh.Styles {
	t := huh.ThemeBase(isDark)
	t.Focused.Base = t.Focused.Base.BorderForeground(lipgloss.Cyan)
	t.Focused.Title = t.Focused.Title.Bold(true)
	t.Focused.Description = t.Focused.Description.Faint(true)
	t.Focused.ErrorIndicator = t.Focused.ErrorIndicator.Foreground(lipgloss.Red)
	t.Focused.ErrorMessage = t.Focused.ErrorMessage.Foreground(lipgloss.Red)
	t.Focused.SelectSelector = t.Focused.SelectSelector.Foreground(lipgloss.Cyan)
	t.Focused.MultiSelectSelector = t.Focused.MultiSelectSelector.Foreground(lipgloss.Cyan)
	t.Focused.SelectedPrefix = t.Focused.SelectedPrefix.Foreground(lipgloss.Green)
	t.Focused.TextInput.Placeholder = lipgloss.NewStyle().Faint(true)
	faint := lipgloss.NewStyle().Faint(true)
	t.Help.ShortKey, t.Help.ShortDesc, t.Help.ShortSeparator = faint, faint, faint
	return t
}

// edit opens the source in an editor.
func (w *wizard) edit() tea.Cmd {
	w.step, w.form = stepEdit, nil
	w.editor = textarea.New()
	w.editor.CharLimit = maxInput
	w.editor.MaxHeight, w.editor.MaxContentHeight = 0, 0 // no limit
	w.editor.SetStyles(inputStyles())
	w.editor.Prompt = ""
	w.editor.SetValue(strings.TrimRight(w.content, "\n"))
	w.editor.MoveToBegin()
	w.resize(w.look)
	return w.editor.Focus()
}

// lines draws the step, with the last problem above it.
func (w *wizard) lines(l look) []string {
	out := w.verdict(l)
	switch w.step {
	case stepWork:
		return append(out, l.working(w.doing, time.Since(w.since), "esc back"))
	case stepEdit:
		out = append(out, strings.Split(w.editor.View(), "\n")...)
		return append(out, l.dim(render.Cut("ctrl+s done · esc back, without these changes", l.cols())))
	}
	out = append(out, strings.Split(strings.TrimRight(w.form.View(), "\n"), "\n")...)
	return append(out, l.dim(render.Cut(w.wayBack(), l.cols())))
}

// wayBack says where Esc leads from a form.
func (w *wizard) wayBack() string {
	if w.first() {
		return "esc back to the conversation"
	}
	return "esc back · ctrl+c closes the form"
}

// first reports whether the first question is open.
func (w *wizard) first() bool {
	return w.step == stepAsk && w.form != nil && w.form.GetFocusedField().GetKey() == firstField
}

// verdict draws what is known about the source: what is wrong with it, or that it is valid.
func (w *wizard) verdict(l look) []string {
	const most = 8 // lines: the rest of the screen is for fixing it
	switch {
	case w.problem != "":
		lines := clip(l.paintLines(render.StyleRed, w.problem, l.cols()-len(gap)), most)
		return append(hang(l.paint(render.StyleRed, markBad), lines), "")
	case w.step == stepReview && w.valid:
		return []string{l.paint(render.StyleGreen, markGood+"it is valid"), ""}
	}
	return nil
}
