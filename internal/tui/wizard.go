package tui

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/huh/v2"

	"github.com/patchbay-dev/patchbay/internal/render"
)

// A wizardStep is a step on the way to a new plugin.
type wizardStep int

const (
	stepAsk     wizardStep = iota // name, description, hooks
	stepWork                      // the writer works: generating, validating, saving
	stepReview                    // there is a source: save, edit, regenerate, discard
	stepEdit                      // the source, in an editor
	stepChange                    // what should be different
	stepReplace                   // the file exists: replace it?
)

// A wizard is /plugin: it asks what the plugin should do, and lets the [PluginWriter] write,
// validate and save it. An error is shown at its step, and every step can be repeated.
type wizard struct {
	writer PluginWriter
	calls  *calls // the running calls to the writer
	look   look
	step   wizardStep

	draft   PluginDraft
	content string // the current source
	valid   bool   // the source is valid
	problem string // what went wrong last

	form   *huh.Form // asking, reviewing, changing
	next   string    // the choice in the review
	editor textarea.Model

	call    int // counts the calls to the writer: an answer to an earlier one is ignored
	doing   string
	since   time.Time
	cancel  context.CancelFunc // of the running call; nil: none
	program context.Context
}

// The answers of the writer, each with the call that it answers.
type (
	generatedMsg struct {
		call    int
		content string
		err     error
	}
	validatedMsg struct {
		call int
		err  error
	}
	savedMsg struct {
		call int
		path string
		err  error
	}
)

// openWizard opens /plugin.
func (s *screen) openWizard(name string) tea.Cmd {
	w := &wizard{writer: s.talk, calls: &s.calls, look: s.look, program: s.ctx}
	w.draft.Name = name
	s.wizard = w
	return w.ask()
}

func (w *wizard) working() bool { return w.step == stepWork }

// stop ends the running call.
func (w *wizard) stop() {
	w.call++
	if w.cancel != nil {
		w.cancel()
		w.cancel = nil
	}
}

// work calls the writer in the background.
func (w *wizard) work(doing string, f func(ctx context.Context, call int) tea.Msg) tea.Cmd {
	w.stop()
	ctx, cancel := context.WithCancel(w.program)
	w.cancel, w.step, w.doing, w.since = cancel, stepWork, doing, time.Now()
	w.form, w.problem = nil, ""
	call := w.call
	return func() tea.Msg {
		defer cancel()
		if !w.calls.begin() {
			return nil
		}
		defer w.calls.end()
		return f(ctx, call)
	}
}

func (w *wizard) generate() tea.Cmd {
	draft := w.draft
	return w.work("writing "+draft.Name, func(ctx context.Context, call int) tea.Msg {
		content, err := w.writer.Generate(ctx, draft)
		return generatedMsg{call, content, err}
	})
}

func (w *wizard) validate() tea.Cmd {
	name, content := w.draft.Name, w.content
	return w.work("checking "+name, func(ctx context.Context, call int) tea.Msg {
		return validatedMsg{call, w.writer.Validate(ctx, name, content)}
	})
}

// save writes the file. It replaces an existing file only if the user chose so.
func (w *wizard) save(replace bool) tea.Cmd {
	name, content := w.draft.Name, w.content
	return w.work("saving "+name, func(ctx context.Context, call int) tea.Msg {
		path, err := w.writer.Save(ctx, name, content, replace)
		return savedMsg{call, path, err}
	})
}

// wizardMsg handles the messages of the wizard.
func (s *screen) wizardMsg(msg tea.Msg) tea.Cmd {
	w := s.wizard
	if w == nil {
		return nil
	}
	switch msg := msg.(type) {
	case generatedMsg:
		return s.generated(msg)
	case validatedMsg:
		return s.validated(msg)
	case savedMsg:
		return s.saved(msg)
	}
	if w.step == stepEdit {
		var cmd tea.Cmd
		w.editor, cmd = w.editor.Update(msg)
		return cmd
	}
	return s.formMsg(msg)
}

// formMsg passes a message to the open form. A completed form leads to the next step.
func (s *screen) formMsg(msg tea.Msg) tea.Cmd {
	w := s.wizard
	if w.form == nil {
		return nil
	}
	m, cmd := w.form.Update(msg)
	if f, ok := m.(*huh.Form); ok {
		w.form = f
	}
	if w.form.State == huh.StateCompleted {
		return tea.Batch(cmd, s.formDone())
	}
	return cmd
}

// formDone starts the step after a form.
func (s *screen) formDone() tea.Cmd {
	w := s.wizard
	switch {
	case w.step == stepAsk:
		w.draft.Description = strings.TrimSpace(w.draft.Description)
		return tea.Batch(w.generate(), s.startTicking())
	case w.step == stepChange:
		w.draft.Previous = w.content
		return tea.Batch(w.generate(), s.startTicking())
	}
	return s.reviewed()
}

// reviewed does what the user chose in the review.
func (s *screen) reviewed() tea.Cmd {
	w := s.wizard
	switch w.next {
	case chooseSave:
		return tea.Batch(w.save(false), s.startTicking())
	case chooseReplace:
		return tea.Batch(w.save(true), s.startTicking())
	case chooseBack:
		return w.review()
	case chooseEdit:
		return w.edit()
	case chooseAgain:
		return w.change()
	case chooseAsk:
		return w.ask()
	}
	return s.closeWizard("no plugin was written")
}

func (s *screen) generated(msg generatedMsg) tea.Cmd {
	w := s.wizard
	if msg.call != w.call {
		return nil
	}
	if msg.err != nil {
		w.problem = "not written: " + errorText(msg.err)
		return w.review()
	}
	w.content, w.draft.Feedback = msg.content, ""
	s.printSource(w)
	if s.talk.Model().Offline {
		s.printWarning("no model is chosen: this is a template to start from, and does not do yet what you asked for")
	}
	return w.validate()
}

func (s *screen) validated(msg validatedMsg) tea.Cmd {
	w := s.wizard
	if msg.call != w.call {
		return nil
	}
	w.valid = msg.err == nil
	if msg.err != nil {
		w.problem = errorText(msg.err)
	}
	return w.review()
}

func (s *screen) saved(msg savedMsg) tea.Cmd {
	w := s.wizard
	if msg.call != w.call {
		return nil
	}
	if errors.Is(msg.err, fs.ErrExist) {
		return w.replace(s.short(msg.path))
	}
	if msg.err != nil {
		w.problem = "not saved: " + errorText(msg.err)
		return w.review()
	}
	s.printer.apart()
	s.printMarked(markGood, render.StyleGreen, "plugin "+w.draft.Name+" is loaded: "+s.short(msg.path))
	return tea.Batch(s.closeWizard(""), s.refreshPlugins)
}

// printSource prints the source without a margin or numbers, so that it can be copied.
func (s *screen) printSource(w *wizard) {
	s.printer.apart()
	s.printer.add(blockNote, s.look.source("python", w.content, s.look.cols()))
}

func (s *screen) closeWizard(note string) tea.Cmd {
	s.wizard.stop()
	s.wizard = nil
	if note != "" {
		s.printer.apart()
		s.printNote(note)
	}
	return s.sendQueued()
}

// wizardKey handles a key for the wizard. Esc goes one step back.
func (s *screen) wizardKey(msg tea.KeyPressMsg) tea.Cmd {
	w := s.wizard
	switch key := msg.String(); {
	case key == "esc":
		return s.wizardBack()
	case key == "ctrl+s" && w.step == stepEdit:
		w.content = w.editor.Value() + "\n"
		s.printSource(w)
		return tea.Batch(w.validate(), s.startTicking())
	}
	return s.wizardMsg(msg)
}

// wizardBack goes one step back: from an edit, a change or a call to the review, from there to the
// questions, from a question to the one before, and from the first to the conversation.
func (s *screen) wizardBack() tea.Cmd {
	w := s.wizard
	switch {
	case w.step == stepWork:
		w.stop()
		w.problem = "stopped"
		return w.review()
	case w.step == stepEdit, w.step == stepChange, w.step == stepReplace:
		return w.review()
	case w.step == stepReview:
		return w.ask()
	case !w.first():
		return w.questionBefore()
	}
	return s.closeWizard("no plugin was written")
}

// questionBefore goes one question back. The form cannot go back from an invalid answer: then it
// starts again with the answers so far.
func (w *wizard) questionBefore() tea.Cmd {
	at := w.form.GetFocusedField()
	cmd := w.form.PrevGroup()
	if w.form.GetFocusedField() == at {
		return w.ask()
	}
	return cmd
}
