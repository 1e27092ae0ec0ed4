package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/patchbay-dev/patchbay/internal/model"
)

// model shows the model, or switches to another one from the next message on.
func (s *screen) model(arg string) tea.Cmd {
	if arg == "" {
		s.showModel()
		return nil
	}
	if strings.HasSuffix(arg, ":NAME") { // copied from the help
		s.printError("put the provider's own name of the model in the place of NAME")
		return nil
	}
	if err := s.talk.UseModel(arg); err != nil {
		s.printError("the model stays " + modelName(s.talk.Model()) + ": " + errorText(err))
		return nil
	}
	s.printNote(modelName(s.talk.Model()) + " answers from the next message on, until you leave")
	return nil
}

func (s *screen) showModel() {
	info := s.talk.Model()
	window := ""
	if info.Window > 0 {
		window = thousands(info.Window) + " tokens"
	}
	s.printPairs(withValues([][2]string{
		{"provider", info.Provider}, {"model", info.Name}, {"window", window},
		{"used", usageText(s.usage)}, {"context", s.context.text(info.Window)},
	}))
	if info.Offline {
		s.printWarning(s.offlineText())
		return
	}
	s.printNote("/model PROVIDER:NAME changes it until you leave; --model, $PATCHBAY_MODEL and [model] in the config set it at the start")
}

// offlineText is shown if the offline model answers.
func (s *screen) offlineText() string {
	if s.offline != "" {
		return s.offline
	}
	return "offline model: it plays a script, or echoes what you write. Choose a model with /model PROVIDER:NAME here, --model PROVIDER:NAME, " +
		"$PATCHBAY_MODEL or [model] in config.toml (`patchbay config init` writes one)"
}

// modelChoices lists the known models, for the menu.
func (s *screen) modelChoices() []choice {
	var out []choice
	for _, name := range model.Known() {
		out = append(out, choice{text: name})
	}
	return out
}
