//go:build !linux

package proc

import "os"

// startHeld starts a program; there is no mark here that it would have to be held for.
func (g *Group) startHeld(c command, attr *os.ProcAttr, born func(pid int)) (*os.Process, error) {
	return startFree(c, attr, born)
}
