//go:build !unix

package engine

import "errors"

// errQuota is the error of unix systems for a disk quota that is used up. Other systems do not have
// it.
var errQuota = errors.New("quota exceeded")
