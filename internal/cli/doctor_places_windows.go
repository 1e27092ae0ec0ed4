package cli

// mayWrite returns nil: Windows has no call that answers this without making a file.
func mayWrite(string) error { return nil }
