package hookroad

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/internal/project"
)

// allowed are the variables that a daemon started by a hook gets. An agent's environment has its
// keys in it, and whatever the person exported for that one session. The daemon serves every agent
// and every project, so it gets what says who and where the user is.
var allowed = []string{
	"HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR",
	"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR",
	"PATCHBAY_HOME",
}

// paths are lists of directories, in which plugins and their programs are looked for.
var paths = []string{"PATH", "SCAFFOLD_HOME", "DOTAGENT_PLUGIN_PATH"}

// allowedWindows are those without which few programs start there.
var allowedWindows = []string{
	"USERPROFILE", "APPDATA", "LOCALAPPDATA", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERNAME",
}

// cleaned is an environment with what is allowed, and of paths what is neither relative nor a part
// of the project at hand: a repository brings no plugins, and what lies in one must not be run for
// the others.
func cleaned(environ []string, dir string) []string {
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

// inside tells whether a directory is part of a project. The root of everything is none, and
// neither is a home directory.
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

// agents are those variables of an environment that [codehook.Parse] looks at.
func agents(environ []string) map[string]string {
	out := make(map[string]string)
	for _, v := range environ {
		if name, value, ok := strings.Cut(v, "="); ok && value != "" && slices.Contains(codehook.Variables(), name) {
			out[name] = value
		}
	}
	return out
}

// lookup is a variable of an environment.
func lookup(environ []string) func(string) string {
	return func(name string) string {
		for _, v := range slices.Backward(environ) {
			if n, value, ok := strings.Cut(v, "="); ok && n == name {
				return value
			}
		}
		return ""
	}
}
