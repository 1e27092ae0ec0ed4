package plugininstall

import (
	"errors"
	"os"
)

// exchangeSlowly swaps with three renames, where the system cannot do it at once. a lies in a
// staging directory: a process that is killed in between leaves the old files there.
func exchangeSlowly(a, b string) error {
	aside := a + ".old"
	if err := os.Rename(b, aside); err != nil {
		return err
	}
	if err := os.Rename(a, b); err != nil {
		return errors.Join(err, os.Rename(aside, b))
	}
	return os.Rename(aside, a)
}
