package plugininstall

import (
	"errors"
	"os"
)

// exchangeSlowly exchanges two files with three renames, if the system cannot do it in one step. a
// is in a staging directory: a process that is killed in between leaves the old files there.
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
