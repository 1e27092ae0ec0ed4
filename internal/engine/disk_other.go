//go:build !unix

package engine

import "errors"

// errQuota is what unix systems say when a user's share of a disk is used up. Others do not have
// it.
var errQuota = errors.New("quota exceeded")
