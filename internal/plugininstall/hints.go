package plugininstall

import (
	"os"
	"path/filepath"

	"github.com/patchbay-dev/patchbay/internal/program"
)

// readme returns the path of the README in dir, or "".
func readme(dir string) string {
	for _, name := range []string{"README.md", "README", "README.txt", "README.rst"} {
		if isFile(filepath.Join(dir, name)) {
			return filepath.Join(dir, name)
		}
	}
	return ""
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// hints lists the commands that may be needed before a plugin works. Patchbay does not run them.
func hints(dir string, p Plugin) []string {
	has := func(name string) bool { return isFile(filepath.Join(dir, name)) }
	var out []string
	in := "cd " + program.Quote(dir) + " && "
	switch {
	case has("Makefile") || has("makefile"):
		out = append(out, in+"make")
	case has("go.mod"):
		out = append(out, in+"go build -o "+program.Quote(built(p))+" .")
	case has("Cargo.toml"):
		out = append(out, in+"cargo build --release")
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil && has("package.json") {
		manager := "npm"
		if has("bun.lock") || has("bun.lockb") {
			manager = "bun"
		}
		out = append(out, in+manager+" install")
	}
	if has("requirements.txt") {
		out = append(out, in+"python3 -m venv .venv && .venv/bin/pip install -r requirements.txt")
	}
	return out
}

// built returns the name of the program that a build makes, if it is known.
func built(p Plugin) string {
	if p.Dialect == mine {
		return "mine-plugin-" + p.Name
	}
	if base := filepath.Base(p.Path); base != "." && base != "/" {
		return base
	}
	return p.Name
}
