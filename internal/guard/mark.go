package guard

import (
	"errors"
	"strconv"
	"strings"
)

// Name is the argv[0] of the host's executable when it is started as the guardian.
const Name = "patchbay-guardian"

// A Mark identifies the processes of one host, or of one plugin: those whose limit has Value in the
// bits of Mask. The zero Mark matches no process.
type Mark struct {
	Value uint64
	Mask  uint64
}

// On reports whether a process with this limit has the mark.
func (m Mark) On(limit uint64) bool {
	return m.Mask != 0 && limit&m.Mask == m.Value
}

// String returns the mark as text, the guardian's only argument.
func (m Mark) String() string {
	return strconv.FormatUint(m.Value, 16) + "/" + strconv.FormatUint(m.Mask, 16)
}

// ParseMark parses the result of [Mark.String].
func ParseMark(s string) (Mark, error) {
	value, mask, found := strings.Cut(s, "/")
	if !found {
		return Mark{}, errors.New("guard: mark without a mask")
	}
	v, errValue := strconv.ParseUint(value, 16, 64)
	m, errMask := strconv.ParseUint(mask, 16, 64)
	return Mark{Value: v, Mask: m}, errors.Join(errValue, errMask)
}
