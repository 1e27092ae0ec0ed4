package entry

import "fmt"

// A Quota limits how much one plugin may store. Zero means the default.
type Quota struct {
	Bytes int64 // of all keys and values; default 64 MiB
	Keys  int   // default 10,000
}

// The defaults. They are more than notes, cached answers and counters need, and small enough that a
// dozen plugins do not fill a laptop's disk.
const (
	defaultBytes = 64 << 20
	defaultKeys  = 10_000
)

// Whole returns the quota with defaults in place of zeros.
func (q Quota) Whole() Quota {
	if q.Bytes <= 0 {
		q.Bytes = defaultBytes
	}
	if q.Keys <= 0 {
		q.Keys = defaultKeys
	}
	return q
}

// Full returns the error for a change that does not fit: see [ErrFull].
func (q Quota) Full(plugin string, used, more Usage) error {
	q = q.Whole()
	return fmt.Errorf("%w: plugin %s stores %d of at most %d bytes and %d of at most %d keys, and this change needs %d bytes more: "+
		"delete some keys, or raise limits.storage or limits.storage_keys in [plugins.%s.limits]",
		ErrFull, plugin, used.Bytes, q.Bytes, used.Keys, q.Keys, more.Bytes, plugin)
}

// Usage is how much a plugin stores, or by how much a change increases or decreases that.
type Usage struct {
	Bytes int64 `json:"bytes"`
	Keys  int   `json:"keys"`
}

// Plus returns u after the change d. The result is never below zero.
func (u Usage) Plus(d Usage) Usage {
	return Usage{Bytes: max(0, u.Bytes+d.Bytes), Keys: max(0, u.Keys+d.Keys)}
}

// Grows reports whether the change u makes the usage larger.
func (u Usage) Grows() bool { return u.Bytes > 0 || u.Keys > 0 }

// Fits reports whether a plugin that stores u may make the change d. A change that does not grow
// the usage always fits, even if the limit was lowered.
func (u Usage) Fits(d Usage, q Quota) bool {
	q = q.Whole()
	return (d.Bytes <= 0 || u.Bytes+d.Bytes <= q.Bytes) && (d.Keys <= 0 || u.Keys+d.Keys <= q.Keys)
}
