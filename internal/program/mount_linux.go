package program

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// mount checks whether the file system allows programs.
func (d *diagnosis) mount() (why, fix string) {
	var stat unix.Statfs_t
	if err := unix.Statfs(d.path, &stat); err != nil || stat.Flags&unix.ST_NOEXEC == 0 {
		return "", ""
	}
	point := mountPoint(d.path)
	return "is on a file system that is mounted noexec: " + point, "move it elsewhere, or: mount -o remount,exec " + Quote(point)
}

// mountPoint returns the directory where the file system of the file is mounted: the outermost of
// the directories above path that are on the same device.
func mountPoint(path string) string {
	var file, parent unix.Stat_t
	dir := filepath.Dir(path)
	if unix.Stat(path, &file) != nil {
		return dir
	}
	for dir != "/" && unix.Stat(filepath.Dir(dir), &parent) == nil && parent.Dev == file.Dev {
		dir = filepath.Dir(dir)
	}
	return dir
}
