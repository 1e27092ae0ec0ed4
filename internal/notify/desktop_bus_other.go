//go:build !linux

package notify

// buses are none: macOS and Windows have no session bus, and on the BSDs, where the D-Bus library
// needs cgo, notify-send does as well.
func buses(programs) []way { return nil }

// notifySendError: notify-send is the only way here, and finds its desktop itself.
func notifySendError(programs) error { return nil }
