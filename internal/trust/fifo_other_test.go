//go:build !unix

package trust

import "errors"

func makeFIFO(string) error { return errors.ErrUnsupported }
