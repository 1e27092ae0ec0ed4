//go:build !linux

package daemon

// listenerOn returns "": other systems do not show it without an extra program.
func listenerOn(string) string { return "" }
