//go:build !linux

package guard

// Alive returns nil: there are no marks on this system.
func Alive(...Mark) []int { return nil }
