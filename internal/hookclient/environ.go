package hookclient

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/internal/project"
)

// allowed lists the variables that are passed to a daemon started by a hook. An agent's environment
// contains its keys, and variables that the user exported for one session. The daemon serves every
// agent and every project, so it gets only the variables about the user and the user's directories.
var allowed = []string{
	"HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR",
	"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR",
	"PATCHBAY_HOME",
}

// paths lists variables with directories that are searched for plugins and their programs.
var paths = []string{"PATH", "SCAFFOLD_HOME", "DOTAGENT_PLUGIN_PATH"}

// allowedWindows lists the variables that most programs need to start on Windows.
var allowedWindows = []string{
	"USERPROFILE", "APPDATA", "LOCALAPPDATA", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERNAME",
}

// cleanEnviron returns the allowed variables of an environment. It removes from the paths all
// relative directories and all directories of the current project: files of one repository must not
// be run for other projects.
func cleanEnviron(environ []string, dir string) []string {
	var out []string
	for _, v := range environ {
		name, value, ok := strings.Cut(v, "=")
		switch {
		case !ok:
		case slices.Contains(paths, strings.ToUpper(name)):
			if value = cleanPath(value, dir); value != "" {
				out = append(out, name+"="+value)
			}
		case isAllowed(name):
			out = append(out, v)
		}
	}
	return out
}

func isAllowed(name string) bool {
	if runtime.GOOS == "windows" {
		name = strings.ToUpper(name)
		if slices.Contains(allowedWindows, name) {
			return true
		}
	}
	return slices.Contains(allowed, name) || strings.HasPrefix(name, "LC_")
}

func cleanPath(path, dir string) string {
	root := project.Root(dir)
	var keep []string
	for _, entry := range filepath.SplitList(path) {
		if filepath.IsAbs(entry) && !inside(root, entry) {
			keep = append(keep, entry)
		}
	}
	return strings.Join(keep, string(os.PathListSeparator))
}

// inside reports whether a directory is part of a project. The root directory and a home directory
// are not projects.
func inside(root, dir string) bool {
	if home, err := os.UserHomeDir(); filepath.Dir(root) == root || err == nil && root == filepath.Clean(home) {
		return false
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	rel, err := filepath.Rel(root, dir)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// agentVariables returns the variables of an environment that [codehook.Parse] reads.
func agentVariables(environ []string) map[string]string {
	out := make(map[string]string)
	for _, v := range environ {
		if name, value, ok := strings.Cut(v, "="); ok && value != "" && slices.Contains(codehook.Variables(), name) {
			out[name] = value
		}
	}
	return out
}

// lookup returns a function that reads a variable of environ. On Windows, names differ in case:
// Path is PATH.
func lookup(environ []string) func(string) string {
	return func(name string) string {
		for _, v := range slices.Backward(environ) {
			if n, value, ok := strings.Cut(v, "="); ok && (n == name || runtime.GOOS == "windows" && strings.EqualFold(n, name)) {
				return value
			}
		}
		return ""
	}
}
