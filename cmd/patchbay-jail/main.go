// Command patchbay-jail builds sandboxes for patchbay, which starts it. If it is in the same
// directory as patchbay, sandboxes are ready sooner, because it is small. Without it patchbay
// starts itself for the same purpose. See package jail.
package main

import (
	"os"

	_ "github.com/patchbay-dev/patchbay/internal/sandbox/jail" // takes over before main where patchbay is the caller
)

func main() {
	_, _ = os.Stderr.WriteString("patchbay-jail builds sandboxes for patchbay, and does nothing by itself: put it beside patchbay\n")
	os.Exit(2)
}
