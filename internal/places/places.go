// Package places lists Patchbay's own places on disk. A plugin that could write to some of them
// could leave its sandbox. Some others it must not even read. Package sandbox denies plugins this
// access.
package places

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/editfile"
	"github.com/patchbay-dev/patchbay/internal/localsock"
	"github.com/patchbay-dev/patchbay/internal/project"
	"github.com/patchbay-dev/patchbay/internal/sandbox"
)

// Own lists the places. Plugins may read configuration, agents and plugins. They may not read
// secrets, stored data, sockets, or a configuration file that contains credentials. plugins are the
// directories and files in which plugins were looked for or found. found are the plugins
// themselves, which may be links.
func Own(dirs config.Dirs, c *config.Config, plugins, found []string) ([]sandbox.Place, error) {
	agents, err := dirs.JobDirs(c)
	if err != nil {
		return nil, err
	}
	secret := hasSecret(c)
	list := []sandbox.Place{
		{Path: dirs.Config, Make: true},
		{Path: dirs.ConfigFile, Hidden: secret},
		{Path: editfile.BackupOf(dirs.ConfigFile), Hidden: secret},
		{Path: dirs.LockFile},
		{Path: dirs.SecretsFile, Hidden: true},
		{Path: dirs.Data, Make: true, Hidden: true},
		{Path: dirs.State, Make: true, Hidden: true},
		{Path: localsock.RuntimeDir(), Make: true, Hidden: true},
	}
	list = append(list, copies(dirs.SecretsFile)...)
	if secret {
		list = append(list, copies(dirs.ConfigFile)...)
	}
	list = append(list, named(dirs, c)...)
	list = append(list, programs(dirs.Home)...)
	list = append(list, dotagent(dirs.DotagentSecrets())...)
	for _, dir := range append(agents, plugins...) {
		// A directory outside of the home, such as /usr/local/lib, is for all users.
		list = append(list, sandbox.Place{Path: dir, Make: true, Shared: !within(dir, dirs.Home)})
	}
	list = append(list, linked(append(agentFiles(agents), found...), dirs.Home)...)
	// If there is no home directory, some places have no absolute path.
	return slices.DeleteFunc(list, func(p sandbox.Place) bool { return !filepath.IsAbs(p.Path) }), nil
}

// agentFiles returns the entries of the directories of agents, and the manifests in them.
func agentFiles(agents []string) []string {
	var files []string
	for _, dir := range agents {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // there are no agents
		}
		for _, e := range entries {
			files = append(files, filepath.Join(dir, e.Name()), filepath.Join(dir, e.Name(), "agent.toml"))
		}
	}
	return files
}

// linked returns the targets of the links among some files, as places.
func linked(files []string, home string) []sandbox.Place {
	var list []sandbox.Place
	for _, file := range files {
		if info, err := os.Lstat(file); err != nil || info.Mode()&os.ModeSymlink == 0 {
			continue
		}
		if real, err := filepath.EvalSymlinks(file); err == nil { // otherwise the link is broken
			list = append(list, withDir(real, home))
		}
	}
	return list
}

// withDir returns a file as a place together with its directory, because a plugin that may write to
// the directory could replace the file. It returns the path alone if the path is a directory
// itself. It also does so if the directory of the file contains the home, because otherwise no
// plugin could write to the home.
func withDir(path, home string) sandbox.Place {
	info, err := os.Stat(path)
	return sandbox.Place{Path: path, WithDir: err == nil && !info.IsDir() && !within(home, filepath.Dir(path))}
}

// Projects lists the places in which projects configure plugins: of the current project, and of
// each project whose root a grant opens for writing. work is the root of the current project, or
// empty. If a granted directory contains other projects, their places are not found.
func Projects(work string, grants []capability.Capability) []sandbox.Place {
	roots := []string{work}
	for _, g := range grants {
		if _, err := os.Stat(filepath.Join(g.Path, ".git")); g.Kind == capability.WriteFS && err == nil {
			roots = append(roots, project.Root(g.Path))
		}
	}
	var list []sandbox.Place
	for _, root := range roots {
		if filepath.IsAbs(root) {
			list = append(list, sandbox.Place{Path: filepath.Dir(filepath.Join(root, config.ProjectFile)), Make: true, BestEffort: true})
		}
	}
	return list
}

// hasSecret reports whether a configuration contains credentials: the server's token, or a user in
// the engine's address.
func hasSecret(c *config.Config) bool {
	return !c.Server.Token.Empty() || strings.Contains(c.Engine.URL, "@")
}

// copies returns the copies that editors and other programs leave beside a file with secrets, under
// names that contain the file's name: "secrets.toml~". If the file is a link, it looks in the
// directory of the link and in that of the real file.
func copies(file string) []sandbox.Place {
	if real, err := filepath.EvalSymlinks(file); err == nil && filepath.Dir(real) != filepath.Dir(file) {
		return append(beside(real), beside(file)...)
	}
	return beside(file)
}

func beside(file string) []sandbox.Place {
	dir, name := filepath.Split(file)
	entries, _ := os.ReadDir(dir) // the copies in a directory that cannot be read are unknown
	var list []sandbox.Place
	for _, e := range entries {
		if e.Name() != name && strings.Contains(e.Name(), name) {
			list = append(list, sandbox.Place{Path: filepath.Join(dir, e.Name()), Hidden: true})
		}
	}
	return list
}

// named returns the files that a configuration names: credentials, certificates and the script of
// the model. It leaves out missing files, which cannot be hidden.
func named(dirs config.Dirs, c *config.Config) []sandbox.Place {
	var list []sandbox.Place
	for _, f := range []struct {
		path   string
		hidden bool
	}{{c.Engine.Credentials, true}, {c.Engine.Key, true}, {c.Engine.Cert, false}, {c.Engine.CA, false}, {c.Model.Script, false}} {
		if f.path == "" {
			continue
		}
		path, err := dirs.Resolve(f.path)
		if err != nil {
			continue // the code that reads the file reports it
		}
		if _, err := os.Lstat(path); err == nil {
			list = append(list, sandbox.Place{Path: path, Hidden: f.hidden})
		}
	}
	return list
}

// SystemPrograms are the directories in which every system has its own programs. They are not
// protected as places of Patchbay: a plugin that may write there can replace programs that
// everybody runs anyway.
var SystemPrograms = []string{"/bin", "/sbin", "/usr/bin", "/usr/sbin"}

// programs returns the running program with its directory. The program that builds the sandboxes
// may be in that directory, too. If a plugin could replace one of these programs, the replacement
// would run outside of any sandbox at the next start.
func programs(home string) []sandbox.Place {
	path, err := os.Executable()
	if err != nil || slices.Contains(SystemPrograms, filepath.Dir(path)) {
		return nil
	}
	return []sandbox.Place{withDir(path, home)}
}

// dotagent returns dotagent's file of secrets and its directory. The file can be hidden only if its
// directory exists.
func dotagent(secrets string) []sandbox.Place {
	if secrets == "" {
		return nil
	}
	dir := filepath.Dir(secrets)
	list := []sandbox.Place{{Path: dir, Make: true}}
	if _, err := os.Stat(dir); err == nil {
		list = append(list, sandbox.Place{Path: secrets, Hidden: true})
	}
	return list
}

// within reports whether a path is a directory or lies in it. It is false if dir is empty.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return dir != "" && err == nil && filepath.IsLocal(rel)
}
