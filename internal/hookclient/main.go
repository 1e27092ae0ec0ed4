package hookclient

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
)

// exitUsage is the exit code for an invalid command line. Gemini CLI and Copilot CLI treat it as a
// denial. The other agents go on.
const exitUsage = 64

// exitInterrupted is the exit code after a signal, if there is no answer.
const exitInterrupted = 130

// Main runs the program patchbay-hook. o has the streams and the environment; the agent and the
// event come from args.
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
		o.Dir, _ = os.Getwd() // if the agent's directory does not exist any more, its event is answered nevertheless
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
	_, _ = io.WriteString(o.Err, "usage: patchbay-hook AGENT [--event NAME] (see `patchbay help hook`)\n") // there is no other place to report an error
	return exitUsage
}
