//go:build unix

package engine

import "golang.org/x/sys/unix"

// errQuota says that a user's share of a disk is used up.
const errQuota = unix.EDQUOT
