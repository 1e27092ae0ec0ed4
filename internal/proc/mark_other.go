//go:build !linux

package proc

import (
	"errors"
	"time"
)

// markCeiling is 0: there is no limit here that could serve as a mark.
func markCeiling() uint64 { return 0 }

func setMark(int, uint64, time.Time) error { return errors.ErrUnsupported }
