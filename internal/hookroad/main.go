package hookroad

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
)

// exitUsage is what a command line is answered with that makes no sense. No agent but Copilot CLI
// takes it for an opinion.
const exitUsage = 64

// Main is the program patchbay-hook: the options have its streams and its environment, the
// arguments the rest.
func Main(ctx context.Context, args []string, o Options) int {
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		switch name, isEvent := strings.CutPrefix(word, "--event="); {
		case isEvent:
			o.Event = name
		case word == "--event" && len(args) > 0:
			o.Event, args = args[0], args[1:]
		case o.Agent == "" && codehook.Agent(word).Known():
			o.Agent = codehook.Agent(word)
		default:
			return o.usage()
		}
	}
	if o.Agent == "" {
		return o.usage()
	}
	if o.Dir == "" {
		o.Dir, _ = os.Getwd() // an agent whose directory is gone still has its event answered
	}
	if o.Agent == codehook.OpenCode {
		if Lines(ctx, o) != nil {
			return 1
		}
		return 0
	}
	return Run(ctx, o)
}

func (o *Options) usage() int {
	_, _ = io.WriteString(o.Err, "usage: patchbay-hook AGENT [--event NAME] (see `patchbay help hook`)\n") // there is nobody else to tell
	return exitUsage
}
