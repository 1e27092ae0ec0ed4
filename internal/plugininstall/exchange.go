package plugininstall

import (
	"errors"
	"os"
)

// exchangeSlowly exchanges two files with three renames, if the system cannot do it in one step.
// The file a is in a staging directory. If the process is killed in between, the old file is left
// there.
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
