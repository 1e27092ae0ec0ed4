package newplugin

import (
	"fmt"
	"strings"
)

// A view is where commands are typed: beside the plugin's directory, or in it.
type view bool

const (
	beside view = false
	here   view = true
)

// at returns the path of a plugin's file from there.
func (v view) at(r Request, file string) string {
	switch {
	case v == beside:
		return strings.TrimSuffix("./"+r.Name+"/"+file, "/")
	case file == "":
		return "."
	}
	return "./" + file
}

// next returns the commands to type after a plugin was written.
func next(r Request) []Step { return steps(r, beside) }

// steps returns the commands to build, test, develop, install and use the plugin, as far as the
// pair has them.
func steps(r Request, v view) []Step {
	var out []Step
	add := func(does, format string, args ...any) { out = append(out, Step{does, fmt.Sprintf(format, args...)}) }
	if r.Language == golang {
		add("build it", "go build %s-o %s .", inDir(r, v), program(r))
	}
	add("run its own tests", "%s", ownTests(r, v))
	test, dev := v.at(r, ""), v.at(r, "")
	if r.Dialect == "mcp" { // Patchbay cannot see from a file that it is an MCP server
		test, dev = "-- "+v.at(r, program(r)), v.at(r, program(r))+" --dialect mcp"
	}
	add("check that it keeps to its protocol", "patchbay plugin test %s", test)
	add("run it while you work on it, and watch every event", "patchbay plugin dev %s", dev)
	add("install it", "%s", install(r, v))
	add("use it", "%s", use(r))
	return out
}

// inDir returns go's flag for another directory.
func inDir(r Request, v view) string {
	if v == here {
		return ""
	}
	return "-C " + r.Name + " "
}

func ownTests(r Request, v view) string {
	switch r.Language {
	case golang:
		return "go test " + inDir(r, v) + "."
	case python:
		return "python3 " + v.at(r, "test_plugin.py")
	case javascript:
		return "node --test " + v.at(r, "test.js")
	}
	return v.at(r, "test.sh")
}

// install returns the command that makes Patchbay find the plugin.
func install(r Request, v view) string {
	if r.Dialect != "mcp" {
		return "patchbay plugin install " + v.at(r, "")
	}
	return fmt.Sprintf(`printf '\n[[mcp]]\nname = "%s"\ncommand = ["%%s"]\n' "$PWD%s" >> ~/.config/patchbay/config.toml`,
		r.Name, strings.TrimPrefix(v.at(r, program(r)), "."))
}

// use returns a command that shows what the installed plugin does.
func use(r Request) string {
	const text = `'{"text":"to be or not to be"}'`
	switch r.Dialect {
	case "scaffold":
		return "patchbay tool call plugin_" + r.Name + "_count --args " + text
	case "mcp":
		return "patchbay tool call " + r.Name + "_count --args " + text
	case "kaged":
		return "patchbay tool call " + r.Name + ".add --args " + text
	case "mine":
		return `patchbay fire command.before --data '{"command":"git","args":["push","--force"]}'`
	case "dotagent":
		return `patchbay fire job.sink --data '{"agent":"me","schedule":"now","message":"hello","config":{"path":"~/kept.md"}}'`
	}
	return `patchbay fire tool.after --data '{"tool":"shell","call_id":"1","arguments":{},"result":"password=hunter2","success":true}'`
}

// commands returns steps as a person types them, each with a comment.
func commands(all []Step) string {
	var b strings.Builder
	for i, s := range all {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%-44s # %s", s.Command, s.Does)
	}
	return b.String()
}
