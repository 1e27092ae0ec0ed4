package newplugin

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// The templates are a plugin called my-plugin, in _templates/LANGUAGE/DIALECT. Their common parts
// are in _templates/shared: a line @FILE@ includes a file from there. The underscore in the
// folder's name keeps the go command from compiling Go templates as packages.
//
//go:embed all:_templates
var templates embed.FS

// placeholder is the plugin's name in the templates.
const placeholder = "my-plugin"

// files returns all files of a plugin.
func files(r Request) ([]File, error) {
	var out []File
	for _, dir := range []string{path.Join("_templates", r.Language, r.Dialect), path.Join("_templates/shared", r.Dialect)} {
		if err := collect(&out, dir, r); err != nil {
			return nil, err
		}
	}
	if r.Language == golang {
		out = append(out, File{"go.mod", goMod(r), 0o644}, File{".gitignore", "/" + program(r) + "\n", 0o644})
	}
	out = append(out, sdkFiles(r)...)
	readme, err := fill("_templates/shared/README.md", r)
	if err != nil {
		return nil, err
	}
	return append(out, File{"README.md", withList(readme, out), 0o644}), nil
}

// collect adds the files of a folder, filled in. A shared folder may be missing: then there are
// none.
func collect(out *[]File, dir string, r Request) error {
	entries, err := fs.ReadDir(templates, dir)
	if err != nil && strings.HasPrefix(dir, "_templates/shared/") {
		return nil // most dialects have no common files
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		text, err := fill(path.Join(dir, e.Name()), r)
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		name := strings.ReplaceAll(e.Name(), placeholder, r.Name)
		if slices.ContainsFunc(*out, func(f File) bool { return f.Path == name }) {
			continue // the language has its own
		}
		*out = append(*out, File{name, text, mode})
	}
	return nil
}

// fill reads a template and fills in the plugin's values.
func fill(file string, r Request) (string, error) {
	raw, err := templates.ReadFile(file)
	if err != nil {
		return "", err
	}
	text := string(raw)
	for _, part := range []string{"json.bash", "check.bash"} {
		if line := "@" + part + "@\n"; strings.Contains(text, line) {
			shared, err := templates.ReadFile("_templates/shared/" + part)
			if err != nil {
				return "", err
			}
			text = strings.ReplaceAll(text, line, string(shared))
		}
	}
	return strings.NewReplacer(
		placeholder, r.Name,
		"@program@", program(r),
		"@command@", kagedCommand(r),
		"@about@", about(r),
		"@next@", commands(steps(r, here)),
		"@installed@", installed(r),
		"@page@", r.Dialect+".md",
	).Replace(text), nil
}

// program returns the file of the plugin's program. A Go plugin has it only after a build.
func program(r Request) string {
	ext := map[string]string{python: ".py", javascript: ".js"}[r.Language]
	switch r.Dialect {
	case "dotagent":
		return "dotagent-plugin-" + r.Name // the protocol requires this name
	case "scaffold":
		return r.Name // the file's name is the plugin's
	}
	return r.Name + ext
}

// kagedCommand returns how a kaged plugin is started, for its manifest.
func kagedCommand(r Request) string {
	switch r.Language {
	case python:
		return fmt.Sprintf("[python3, %s]", program(r))
	case javascript:
		return fmt.Sprintf("[node, %s]", program(r))
	}
	return fmt.Sprintf("[./%s]", program(r))
}

// about returns what the plugin of a template does.
func about(r Request) string {
	does := map[string]string{
		"scaffold": "A scaffold plugin: it tells the agent which day it is, and has a tool that counts words.",
		"mcp":      "An MCP server with a tool that counts words.",
		"kaged":    "A kaged plugin: it has tools that store notes, and gives the notes to the model when a session starts.",
		"mine":     "A mine plugin: it turns `git push --force` into `git push --force-with-lease`.",
		"dotagent": "A dotagent sink: it appends the output of an agent to a file.",
		"python":   "A python plugin: it hides secrets in the results of tools, and says so below the answer.",
	}
	return does[r.Dialect]
}

// installed returns what the README says about a plugin that has changed since it was installed.
func installed(r Request) string {
	if r.Dialect == "mcp" {
		return "Installing copies nothing: the configuration names the program here, and each start runs it as it is now."
	}
	return "Installing copies the plugin: do it again after a change, or let `patchbay plugin dev` run it from here."
}

// withList adds the list of the plugin's files to its README. A subdirectory, such as the Go SDK,
// is one line.
func withList(readme string, all []File) string {
	var rows []string
	for _, f := range all {
		if dir, _, nested := strings.Cut(f.Path, "/"); nested {
			if row := fmt.Sprintf("| `%s/` | %s |", dir, meaning(f.Path)); rows[len(rows)-1] != row {
				rows = append(rows, row)
			}
			continue
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s |", f.Path, meaning(f.Path)))
	}
	return strings.ReplaceAll(readme, "@files@", strings.Join(rows, "\n"))
}

// meaning returns what a file is.
func meaning(file string) string {
	switch name := path.Base(file); {
	case strings.HasPrefix(file, goSDKDir+"/"):
		return "Patchbay's SDK for Go, as `go.mod` says; once there is a release of it, drop the `replace` and the folder"
	case name == pythonSDK:
		return "Patchbay's SDK for Python: one file"
	case name == pythonHarness:
		return "for the tests: it calls the plugin as a host would"
	case strings.HasPrefix(name, "test") || strings.HasSuffix(name, "_test.go"):
		return "its tests"
	case name == "manifest.yaml" || name == "mine-plugin.toml":
		return "declares what the plugin offers and needs"
	case name == "go.mod":
		return "the Go module"
	case name == ".gitignore":
		return "keeps the built program out of git"
	}
	return "the plugin"
}
