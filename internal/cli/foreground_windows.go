package cli

import "os"

// inForeground: Windows stops no process that reads from its console.
func inForeground(*os.File) bool { return true }
