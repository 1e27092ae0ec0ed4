//go:build !linux

package guard

// Alive finds nobody: there are no marks here.
func Alive(...Mark) []int { return nil }
