// Command patchbay-hook answers the hooks of other coding agents: `patchbay-hook AGENT --event
// NAME`, with the event on stdin. It does the same as `patchbay hook`, but it is small and starts
// fast, because an agent waits for it. It runs no plugins itself: it asks the daemon, or starts the
// patchbay beside it. See package hookclient.
package main

import (
	"context"
	"os"

	"github.com/patchbay-dev/patchbay/internal/hookclient"
)

func main() {
	os.Exit(hookclient.Main(context.Background(), os.Args[1:],
		hookclient.Options{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ()}))
}
