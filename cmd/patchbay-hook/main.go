// Command patchbay-hook answers the hooks of other coding agents: `patchbay-hook AGENT --event
// NAME`, with the event on stdin. It is `patchbay hook` in a program that starts as fast as can be,
// since an agent waits for it. It has no plugins: the daemon has them, or patchbay beside it. See
// package hookroad.
package main

import (
	"context"
	"os"

	"github.com/patchbay-dev/patchbay/internal/hookroad"
)

func main() {
	os.Exit(hookroad.Main(context.Background(), os.Args[1:],
		hookroad.Options{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ()}))
}
