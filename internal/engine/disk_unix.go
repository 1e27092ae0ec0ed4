//go:build unix

package engine

import "golang.org/x/sys/unix"

// errQuota is the error for a disk quota that is used up.
const errQuota = unix.EDQUOT
