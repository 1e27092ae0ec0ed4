//go:build !unix

package plugininstall

import "errors"

func makeFIFO(string) error { return errors.ErrUnsupported }
