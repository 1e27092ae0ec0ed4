package entry

import "fmt"

// A Quota is how much one plugin may store. Zero means the default.
type Quota struct {
	Bytes int64 // of keys and values together; 64 MiB
	Keys  int   // 10,000
}

// The defaults: more than notes, caches of answers and counters take, little enough that a dozen
// plugins do not fill a laptop's disk.
const (
	defaultBytes = 64 << 20
	defaultKeys  = 10_000
)

// Whole replaces what is zero by the default.
func (q Quota) Whole() Quota {
	if q.Bytes <= 0 {
		q.Bytes = defaultBytes
	}
	if q.Keys <= 0 {
		q.Keys = defaultKeys
	}
	return q
}

// Full is the error of a change that does not fit: see [ErrFull].
func (q Quota) Full(plugin string, used, more Usage) error {
	q = q.Whole()
	return fmt.Errorf("%w: plugin %s keeps %d bytes of at most %d bytes, and %d of at most %d keys, and this takes %d bytes more: "+
		"delete some, or raise limits.storage or limits.storage_keys in [plugins.%s.limits]",
		ErrFull, plugin, used.Bytes, q.Bytes, used.Keys, q.Keys, more.Bytes, plugin)
}

// Usage is what a plugin keeps, or a difference to that.
type Usage struct {
	Bytes int64 `json:"bytes"`
	Keys  int   `json:"keys"`
}

// Plus adds a difference. Nobody keeps less than nothing.
func (u Usage) Plus(d Usage) Usage {
	return Usage{Bytes: max(0, u.Bytes+d.Bytes), Keys: max(0, u.Keys+d.Keys)}
}

// Grows tells whether more is kept after this difference.
func (u Usage) Grows() bool { return u.Bytes > 0 || u.Keys > 0 }

// Fits tells whether a plugin that keeps u may keep d more. What does not grow fits, also where a
// limit was lowered.
func (u Usage) Fits(d Usage, q Quota) bool {
	q = q.Whole()
	return (d.Bytes <= 0 || u.Bytes+d.Bytes <= q.Bytes) && (d.Keys <= 0 || u.Keys+d.Keys <= q.Keys)
}
