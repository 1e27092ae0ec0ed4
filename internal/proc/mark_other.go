//go:build !linux

package proc

import "errors"

// markCeiling returns 0: this system has no limit that could serve as a mark.
func markCeiling() uint64 { return 0 }

func setMark(int, uint64) error { return errors.ErrUnsupported }
