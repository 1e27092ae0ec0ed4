//go:build !linux

package metrics

// Process shows what the system knows of the program's process: on Linux only.
func (r *Registry) Process() {}
