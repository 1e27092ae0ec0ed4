//go:build !linux

package metrics

// Process adds nothing: the metrics of the process exist on Linux only.
func (r *Registry) Process() {}
