// Command patchbay-hook answers the hooks of other coding agents: `patchbay-hook AGENT --event NAME`, with the event on stdin. It is
// `patchbay hook` in a program that starts as fast as can be, since an agent waits for it. It has no plugins: the daemon has them, or
// patchbay beside it. See package hookroad.
package main

import (
	"context"
	"os"
	"strings"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/internal/hookroad"
)

func main() { os.Exit(run(os.Args[1:])) }

// exitUsage is what a command line is answered with that makes no sense. No agent takes it for an opinion.
const exitUsage = 64

func run(args []string) int {
	o := hookroad.Options{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ()}
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
			return usage()
		}
	}
	if o.Agent == "" {
		return usage()
	}
	o.Dir, _ = os.Getwd() // an agent whose directory is gone still has its event answered
	if o.Agent == codehook.OpenCode {
		if hookroad.Lines(context.Background(), o) != nil {
			return 1
		}
		return 0
	}
	return hookroad.Run(context.Background(), o)
}

func usage() int {
	_, _ = os.Stderr.WriteString("usage: patchbay-hook AGENT [--event NAME] (see `patchbay help hook`)\n")
	return exitUsage
}
