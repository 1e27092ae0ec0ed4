package localsock

import "os"

// checkOwner has nothing to look at: the user's directories are the user's by their access lists.
func checkOwner(string, os.FileInfo) error { return nil }
