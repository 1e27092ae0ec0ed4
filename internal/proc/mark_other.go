//go:build !linux

package proc

import "errors"

// markCeiling is 0: there is no limit here that could serve as a mark.
func markCeiling() uint64 { return 0 }

func setMark(int, uint64) error { return errors.ErrUnsupported }
