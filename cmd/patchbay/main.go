// Command patchbay finds, tries and debugs plugins. See package cli.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // time zones for schedules, on systems that have no data about them

	"github.com/patchbay-dev/patchbay/internal/cli"
	"github.com/patchbay-dev/patchbay/internal/demo"
)

func main() {
	os.Exit(run())
}

func run() int {
	if sample := demo.Sample(os.Args); sample != nil { // the demo has started this process as one of its plugins
		if err := sample(os.Stdin, os.Stdout); err != nil {
			return 1
		}
		return 0
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal kills this process
	// Without this, a write to a closed pipe would end the process before it has stopped the
	// plugins.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return cli.Main(ctx, os.Args[1:], cli.System())
}
