package patchbay_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// This file tests which package may import which, and what only some packages may do. It parses the
// files itself: the answers of `go list` can come from a cache that does not know the latest
// import. Tests may import any package.

const module = "github.com/patchbay-dev/patchbay"

// notYet lists folders that rules name and that do not exist yet. A folder that exists must not be
// in the list.
var notYet = []string{}

// leaves are packages that may import only the listed packages of the module.
var leaves = map[string]struct {
	may []string
	why string
}{
	"rawjson":                 {nil, "it only handles JSON"},
	"web":                     {nil, "it only holds the files of the web page; the server is elsewhere"},
	"internal/pattern":        {nil, "it only compiles regular expressions"},
	"internal/excerpt":        {nil, "it only shortens text"},
	"internal/fixes":          {nil, "it only looks at errors"},
	"internal/nearest":        {nil, "it only compares words"},
	"internal/newplugin":      {[]string{"internal/nearest", "internal/pattern"}, "it writes files, and starts no plugin"},
	"internal/pause":          {nil, "it only waits"},
	"internal/project":        {nil, "it only looks for the root of a directory's project"},
	"internal/projectfiles":   {[]string{"internal/config", "internal/pattern", "internal/plainfile", "internal/scratch", "internal/trust"}, "it reads files and starts nothing; its callers ask the user"},
	"internal/plainfile":      {nil, "it only reads files"},
	"internal/atomicfile":     {nil, "it only replaces files"},
	"internal/editfile":       {[]string{"internal/atomicfile", "internal/plainfile", "rawjson"}, "it only edits files"},
	"internal/secretenv":      {nil, "it is only a list of names"},
	"internal/guard":          {nil, "it takes over before main: nothing else may run by then"},
	"internal/capability":     {[]string{"internal/schema"}, "it is vocabulary only; internal/sandbox enforces it"},
	"internal/schema":         {[]string{"rawjson"}, "it only checks values against a schema"},
	"internal/schema/sample":  {[]string{"internal/schema"}, "it only makes values for a schema"},
	"internal/mcpcall":        {nil, "it is shared by the MCP client and the MCP server, and depends on neither"},
	"internal/mcphttp":        {[]string{"internal/mcpcall"}, "it only connects to servers; the dialect knows the protocol"},
	"internal/mcpinstall":     {[]string{"internal/editfile"}, "it only edits the files of agents, and starts no server"},
	"internal/wire":           {[]string{"internal/excerpt", "rawjson"}, "framing knows no dialect and no point"},
	"internal/limits":         {nil, "it sets the limits of a process, and starts none"},
	"internal/program":        {[]string{"internal/excerpt", "internal/filestate", "internal/pattern"}, "it looks at programs as files, and starts none"},
	"internal/proc":           {[]string{"internal/fixes", "internal/guard", "internal/limits", "internal/program"}, "it runs processes, and knows no protocol"},
	"hook":                    {[]string{"rawjson"}, "the core knows neither dialects nor hosts, and does no I/O"},
	"internal/document":       {[]string{"internal/excerpt", "internal/nearest", "internal/pattern", "internal/schema", "rawjson"}, "it reads files; the meaning of their keys belongs to the callers"},
	"internal/sandbox/broker": {nil, "it knows grants and sockets, and no plugins"},
	"internal/sandbox/jail":   {nil, "it takes over before main: nothing else may run by then"},
	"internal/sandbox":        {[]string{"internal/capability", "internal/daemonaccess", "internal/limits", "internal/proc", "internal/program", "internal/sandbox/broker", "internal/sandbox/jail", "internal/scratch"}, "it runs any process in a sandbox, and knows no plugins"},
	"adapter/codehook":        {[]string{"hook", "rawjson"}, "it only translates; the host with the plugins calls it"},
	"internal/version":        {nil, "it is only a number"},
	"internal/homedirs":       {nil, "it uses only the environment, so that even patchbay-hook can link it"},
	"internal/config":         {[]string{"internal/pattern", "internal/document", "internal/capability", "internal/homedirs", "internal/plainfile"}, "it reads the files; their meaning belongs to its callers"},
	"internal/localsock":      {nil, "it opens sockets, and knows no protocol"},
	"internal/filelock":       {nil, "it only locks files"},
	"internal/approval":       {[]string{"internal/atomicfile", "internal/filelock", "internal/plainfile", "rawjson"}, "it compares command lines, and runs none"},
	"internal/attach":         {[]string{"internal/excerpt", "internal/plainfile"}, "it only makes text of files"},
	"internal/trust":          {[]string{"internal/atomicfile", "internal/document", "internal/filelock", "internal/filestate", "internal/plainfile", "internal/program"}, "it knows files and their checksums, and runs none"},
	"internal/pluginlog":      {[]string{"internal/dialect", "internal/excerpt", "internal/filelock", "internal/pause"}, "it only stores lines of logs"},
	"internal/plugindir":      {[]string{"internal/dialect", "internal/pattern", "internal/plainfile", "internal/pluginhost"}, "it lists plugins, and installs none"},
	"internal/plugininstall":  {[]string{"internal/config", "internal/dialect", "internal/excerpt", "internal/pattern", "internal/plainfile", "internal/plugindir", "internal/pluginhost", "internal/proc", "internal/program", "internal/scratch", "internal/trust"}, "it puts files in place, and knows neither terminal nor daemon"},
	"internal/proc/detached":  {nil, "it only starts a detached process"},
	"internal/hookclient":     {[]string{"adapter/codehook", "hook", "internal/atomicfile", "internal/filelock", "internal/homedirs", "internal/localsock", "internal/pause", "internal/plainfile", "internal/proc/detached", "internal/project", "internal/version"}, "an agent waits for it at each event, so it must start fast"},
	"internal/daemonaccess":   {[]string{"internal/localsock", "internal/sandbox/jail"}, "it knows processes and addresses, and serves nothing"},
	"internal/engine":         {[]string{"internal/atomicfile", "internal/config", "internal/daemonaccess", "internal/filelock", "internal/localsock", "internal/engine/blocks", "internal/engine/archive", "internal/pause", "internal/plainfile"}, "it stores bytes, and does not know their meaning"},
	"internal/engine/blocks":  {[]string{"internal/atomicfile", "internal/filestate", "internal/plainfile"}, "it only handles files, and never talks to a server"},
	"internal/engine/archive": {[]string{"internal/engine/blocks"}, "it is only a file format, and never talks to a server"},
	"internal/places":         {[]string{"internal/capability", "internal/config", "internal/editfile", "internal/localsock", "internal/project", "internal/sandbox"}, "it is only a list of places"},
	"internal/model":          {[]string{"internal/config", "rawjson", "internal/document", "internal/excerpt", "internal/nearest", "internal/pause", "internal/plainfile"}, "it knows messages, and no sessions"},
	"internal/plugindev":      {[]string{"hook", "internal/config", "internal/dialect", "internal/fixes", "internal/nearest", "internal/pluginhost", "internal/render", "internal/schema/sample", "rawjson"}, "it reports what happens to a plugin, and draws no screen"},
	"internal/notify":         {[]string{"internal/document", "internal/engine", "internal/fixes", "internal/nearest", "internal/pause", "internal/proc", "rawjson"}, "it sends messages, and knows no jobs"},
	"internal/lease":          {[]string{"internal/guard", "internal/pause"}, "it knows processes, and not what they hold a lease of"},
	"internal/scratch":        {[]string{"internal/pattern", "internal/lease"}, "it only makes temporary directories"},
	"internal/session":        {[]string{"internal/model"}, "it only defines values; internal/sessionstore stores them"},
	"internal/sessionstore":   {[]string{"internal/engine", "internal/lease", "internal/model", "internal/pause", "internal/session", "rawjson"}, "it stores transcripts, and runs no turns"},
	"internal/feature":        {nil, "it only defines flags"},
	"internal/featurestore":   {[]string{"internal/engine", "internal/feature"}, "it stores flags, and does not know what they switch"},
	"internal/journal":        {[]string{"internal/engine", "rawjson"}, "it stores events, and does not know their meaning"},
	"internal/otlp":           {[]string{"hook", "internal/excerpt", "internal/pause", "internal/version"}, "it knows spans and collectors, and not where events are stored"},
	"internal/entry":          {[]string{"rawjson"}, "it only checks keys and values; its callers store them"},
	"filestore":               {[]string{".", "internal/entry", "rawjson"}, "it serves programs that embed Patchbay without an engine"},
	"internal/pythonfile":     {[]string{"hook", "internal/dialect", "internal/dialect/python", "internal/plainfile", "internal/pluginhost", "rawjson"}, "it knows the python dialect and the host, and no other dialect"},
	"internal/storage":        {[]string{"internal/config", "internal/engine", "internal/entry"}, "it stores keys and values, and knows no plugins"},
}

// sdkWhy is the reason against imports of the SDK.
const sdkWhy = "the SDK is the plugins' side of the protocols, in its own module: a host that shared its code would share its mistakes, and no test would find them"

// dialects is the folder of the plugin protocols.
const dialects = "internal/dialect"

// A bar forbids some folders to import others: from matches the folder that imports, barred the
// folder that it must not import. Folders are relative to the module; the root is ".".
type bar struct {
	from   func(dir string) bool
	barred func(from, to string) bool
	why    string
}

var bars = []bar{
	{under(dialects), func(from, to string) bool {
		return under(dialects)(to) && spoke(dialects, from) != spoke(dialects, to) && to != dialects
	}, "no dialect imports another: code that two share belongs in package dialect"},
	{under(dialects), anyOf(".", "adapter", "internal/pluginhost", "internal/cli", "internal/daemon", "cmd"),
		"a dialect is below the host, and does not know who fires its hooks"},
	{under("adapter"), func(from, to string) bool {
		return under("adapter")(to) && spoke("adapter", from) != spoke("adapter", to) && to != "adapter"
	}, "no adapter imports another: code that two share belongs in package adapter"},
	{under("adapter"), anyOf(".", dialects, "internal/pluginhost", "internal/cli", "cmd"),
		"an adapter declares the small interface that it needs, and the host implements it"},
	{not(anyDir(".", "internal/pluginhost", "internal/pythonfile", dialects, "internal/demo", "internal/plugtest", "internal/conformance")), func(_, to string) bool { return under(dialects)(to) && to != dialects },
		"only the host, and the test kits that check plugins of each dialect, list the dialects"},
	{anyDir(".", "internal/pluginhost"), anyOf("adapter", "internal/pythonfile", "internal/cli", "internal/daemon", "cmd"),
		"the library is below the daemon and the command"},
	{not(anyDir("filestore", "examples")), anyOf("filestore"),
		"filestore is for programs that embed Patchbay; inside, storage comes from the caller or the engine"},
	{not(anyDir("examples", "filestore")), anyOf("."),
		"the root is for programs that embed Patchbay; inside, use internal/pluginhost"},
	{anyDir("adapter/chat", "adapter/httpapi", "internal/tui"), anyOf("internal/engine", "internal/sessionstore", "internal/journal", "internal/storage"),
		"the agent, its API and its screen receive values, and do not know where they are stored"},
	{under("internal/daemon"), anyOf("internal/cli", "cmd"),
		"the daemon is below the command"},
	{under("internal/tui"), anyOf(".", dialects, "internal/pluginhost", "internal/daemon", "internal/cli", "cmd"),
		"a screen receives its conversation, and does not know what runs it"},
	{not(anyDir("cmd")), anyOf("internal/cli", "cmd"),
		"only main needs the command line"},
	{under("internal/recording"), anyOf("internal/daemon", "internal/engine", "internal/journal", "internal/storage"),
		"a recording is played without the user's data: no journal, no sessions, no storage"},
	{not(anyDir("internal/plugtest")), anyOf("internal/plugtest"),
		"test fakes stay out of the product"},
	{func(string) bool { return true }, anyOf("sdk"), sdkWhy},
}

// A privilege is a package, or some names of one, that only some folders may use.
type privilege struct {
	pkg   string
	names []string // empty: the import itself
	in    func(dir string) bool
	why   string
}

// linkerWhy is the reason against packages that look up methods by names which are known only at
// run time.
const linkerWhy = "it makes the linker keep every exported method of the program, 6 MB of them: see docs/decisions/0017-what-the-linker-drops.md"

// readerWhy is the reason against libraries that decode documents.
const readerWhy = "one package reads the files that people write, so that every mistake has its line, its column and its fix"

var privileges = []privilege{
	{"os/exec", nil, anyDir("internal/proc", "internal/plugtest", "examples"),
		"one package starts every child process, so that none lacks its group, its guardian or its environment"},
	{"os", []string{"Exit", "Args", "Stdout", "Stderr"},
		anyDir("internal/cli", "cmd", "internal/guard", "internal/sandbox/jail", "internal/plugtest", "sdk", "examples"),
		"a library must not act for the program that embeds it (the SDK runs in the plugin, which is a program)"},
	{"fmt", []string{"Print", "Printf", "Println"},
		anyDir("cmd", "internal/plugtest", "sdk", "examples"),
		"they write to os.Stdout; the command line writes to its own streams"},
	{"text/template", nil, nowhere, linkerWhy},
	{"html/template", nil, nowhere, linkerWhy},
	{"net/rpc", nil, nowhere, linkerWhy},
	{"github.com/goccy/go-yaml", nil, nowhere, readerWhy},
	{"github.com/goccy/go-yaml/parser", nil, anyDir("internal/document"), readerWhy},
	{"github.com/pelletier/go-toml/v2", nil, anyDir("internal/document", "internal/editfile"),
		readerWhy + " (editfile decodes only to check that an edit changed one value)"},
}

// initIn are the folders that may have an init function.
var initIn = anyDir("internal/guard", "internal/sandbox/jail")

// TestArchitecture: the files of the module keep all rules.
func TestArchitecture(t *testing.T) {
	files := moduleFiles(t)
	for _, f := range files {
		for _, fault := range faults(f) {
			t.Error(fault)
		}
	}
	for _, fault := range undocumented(files) {
		t.Error(fault)
	}
}

// TestArchitectureNamesRealFolders: each folder in leaves exists, and so does each folder in names.
func TestArchitectureNamesRealFolders(t *testing.T) {
	names := []string{dialects, "internal/pluginhost", "adapter", "cmd/patchbay", "internal/cli", "internal/daemon", "internal/demo", "internal/plugtest", "sdk/go"}
	for dir := range leaves {
		names = append(names, dir)
	}
	for _, dir := range names {
		_, err := os.Stat(filepath.FromSlash(dir))
		switch exists := err == nil; {
		case !exists && !slices.Contains(notYet, dir):
			t.Errorf("a rule names the folder %s, which does not exist", dir)
		case exists && slices.Contains(notYet, dir):
			t.Errorf("the folder %s exists now: remove it from notYet", dir)
		}
	}
}

// TestArchitectureRulesCanFail: each rule refuses a file that breaks it, and accepts one that does
// not.
func TestArchitectureRulesCanFail(t *testing.T) {
	for _, c := range []struct{ file, source, want string }{
		{"hook/a.go", `import "` + module + `/internal/proc"`, "hook must not import internal/proc"},
		{"hook/a.go", `import "` + module + `/rawjson"`, ""},
		{"internal/cli/a.go", `import "` + module + `/sdk/go"`, "internal/cli must not import sdk/go"},
		{"hook/a_test.go", `import "` + module + `/internal/proc"`, ""},
		{"internal/wire/a.go", `import "` + module + `"`, "internal/wire must not import ."},
		{"internal/guard/a.go", `import "` + module + `/rawjson"`, "internal/guard must not import rawjson"},
		{"internal/proc/a.go", `import "` + module + `/internal/guard"`, ""},
		{"internal/proc/a.go", `import "` + module + `/internal/limits"`, ""},
		{"internal/program/a.go", `import "` + module + `/internal/proc"`, "internal/program must not import internal/proc"},
		{"internal/limits/a.go", `import "` + module + `/internal/proc"`, "internal/limits must not import internal/proc"},
		{"internal/dialect/mine/a.go", `import "` + module + `/internal/dialect/kaged"`, "internal/dialect/mine must not import internal/dialect/kaged"},
		{"internal/dialect/mine/a.go", `import "` + module + `/internal/dialect"`, ""},
		{"internal/dialect/mine/a.go", `import "` + module + `/internal/dialect/mine/inner"`, ""},
		{"internal/dialect/a.go", `import "` + module + `/internal/dialect/mine"`, "dialect must not import internal/dialect/mine"},
		{"internal/dialect/mine/a.go", `import "` + module + `"`, "internal/dialect/mine must not import ."},
		{"internal/dialect/mine/a.go", `import "` + module + `/adapter/chat"`, "internal/dialect/mine must not import adapter/chat"},
		{"adapter/chat/a.go", `import "` + module + `/adapter/job"`, "adapter/chat must not import adapter/job"},
		{"adapter/chat/a.go", `import "` + module + `/hook"`, ""},
		{"adapter/codehook/a.go", `import "` + module + `/hook"`, ""},
		{"adapter/codehook/a.go", `import "` + module + `/internal/project"`, "adapter/codehook must not import internal/project"},
		{"adapter/chat/a.go", `import "` + module + `"`, "adapter/chat must not import ."},
		{"internal/engine/a.go", `import "` + module + `/internal/dialect/mine"`, "internal/engine must not import internal/dialect/mine"},
		{"a.go", `import "` + module + `/internal/dialect/mine"`, ""},
		{"internal/pluginhost/a.go", `import "` + module + `/internal/dialect/mine"`, ""},
		{"internal/pluginhost/a.go", `import "` + module + `/internal/pythonfile"`, "internal/pluginhost must not import internal/pythonfile"},
		{"internal/pythonfile/a.go", `import "` + module + `/internal/dialect/python"`, ""},
		{"internal/pythonfile/a.go", `import "` + module + `/internal/dialect/mine"`, "internal/pythonfile must not import internal/dialect/mine"},
		{"internal/cli/a.go", `import "` + module + `"`, "internal/cli must not import ."},
		{"examples/embed/a.go", `import "` + module + `"`, ""},
		{"filestore/a.go", `import "` + module + `"`, ""},
		{"filestore/a.go", `import "` + module + `/internal/engine"`, "filestore must not import internal/engine"},
		{"a.go", `import "` + module + `/filestore"`, ". must not import filestore"},
		{"a.go", `import "` + module + `/internal/daemon"`, ". must not import internal/daemon"},
		{"internal/daemon/a.go", `import "` + module + `/internal/cli"`, "internal/daemon must not import internal/cli"},
		{"internal/model/a.go", `import "` + module + `/internal/plugtest"`, "internal/model must not import internal/plugtest"},
		{"adapter/chat/a.go", `import "` + module + `/internal/engine"`, "adapter/chat must not import internal/engine"},
		{"adapter/chat/a.go", `import "` + module + `/internal/session"`, ""},
		{"internal/model/a.go", `import "os/exec"`, "internal/model must not use os/exec"},
		{"internal/proc/a.go", `import "os/exec"`, ""},
		{"internal/cli/a.go", `import "text/template"`, "internal/cli must not use text/template"},
		{"internal/cli/a_test.go", `import "text/template"`, ""},
		{"internal/model/a.go", `import "github.com/goccy/go-yaml"`, "internal/model must not use github.com/goccy/go-yaml"},
		{"internal/document/a.go", `import "github.com/goccy/go-yaml/parser"`, ""},
		{"internal/trust/a.go", `import "github.com/pelletier/go-toml/v2"`, "internal/trust must not use github.com/pelletier/go-toml/v2"},
		{"a.go", `import "os"; var _ = os.Args`, ". must not use os.Args"},
		{"a.go", `import system "os"; func f() { system.Exit(1) }`, ". must not use os.Exit"},
		{"a.go", `import "os"; var _ = os.Getpid`, ""},
		{"a_test.go", `import "os"; var _ = os.Args`, ""},
		{"cmd/patchbay/a.go", `import "os"; var _ = os.Args`, ""},
		{"hook/a.go", `import "fmt"; func f() { fmt.Println() }`, "hook must not use fmt.Println"},
		{"hook/a.go", `func init() {}`, "hook must not have an init function"},
		{"hook/a.go", `type t int; func (t) init() {}`, ""},
		{"internal/guard/a.go", `func init() {}`, ""},
	} {
		f := parseSource(t, c.file, "package p; "+c.source)
		got := strings.Join(faults(f), "\n")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s\ngot  %q\nwant %q", c.file, c.source, got, c.want)
		}
	}
	if got := undocumented([]source{parseSource(t, "x/a.go", "package p")}); len(got) != 1 {
		t.Errorf("a package without a comment: got %q", got)
	}
	if got := undocumented([]source{parseSource(t, "x/a.go", "package p"), parseSource(t, "x/doc.go", "// Package p is.\npackage p")}); len(got) != 0 {
		t.Errorf("a package with a comment: got %q", got)
	}
}

// source is one parsed file.
type source struct {
	name string // relative to the module, with slashes
	dir  string
	test bool
	ast  *ast.File
}

// faults returns the rules that a file breaks.
func faults(f source) []string {
	if f.test {
		return nil
	}
	var out []string
	broken := func(what, why string) {
		out = append(out, fmt.Sprintf("%s: %s must not %s: %s", f.name, f.dir, what, why))
	}
	for _, to := range f.moduleImports() {
		if leaf, ok := leaves[f.dir]; ok && !slices.Contains(leaf.may, to) {
			broken("import "+to, leaf.why)
		}
		for _, b := range bars {
			if b.from(f.dir) && b.barred(f.dir, to) {
				broken("import "+to, b.why)
			}
		}
	}
	for _, p := range privileges {
		if !p.in(f.dir) {
			for _, use := range f.uses(p.pkg, p.names) {
				broken("use "+use, p.why)
			}
		}
	}
	if f.hasInit() && !initIn(f.dir) {
		broken("have an init function", "code that runs on import cannot be tested, ordered or left out")
	}
	return out
}

// undocumented returns the packages without a package comment.
func undocumented(files []source) []string {
	documented := make(map[string]bool)
	for _, f := range files {
		if !f.test {
			documented[f.dir] = documented[f.dir] || f.ast.Doc.Text() != ""
		}
	}
	var out []string
	for dir, ok := range documented {
		if !ok {
			out = append(out, fmt.Sprintf("%s: no package comment; write a doc.go that says what the package is, what it is not, and how its main flow runs", dir))
		}
	}
	return out
}

func (f source) moduleImports() []string {
	var dirs []string
	for _, spec := range f.ast.Imports {
		if p := importPath(spec); p == module {
			dirs = append(dirs, ".")
		} else if dir, ok := strings.CutPrefix(p, module+"/"); ok {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// uses returns the names of pkg that the file uses. Without names it returns pkg itself, if the
// file imports it.
func (f source) uses(pkg string, names []string) []string {
	local := ""
	for _, spec := range f.ast.Imports {
		if importPath(spec) != pkg {
			continue
		}
		if len(names) == 0 {
			return []string{pkg}
		}
		local = path.Base(pkg)
		if spec.Name != nil {
			local = spec.Name.Name
		}
	}
	var out []string
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && local != "" && slices.Contains(names, sel.Sel.Name) {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == local {
				out = append(out, pkg+"."+sel.Sel.Name)
			}
		}
		return true
	})
	return out
}

func (f source) hasInit() bool {
	return slices.ContainsFunc(f.ast.Decls, func(d ast.Decl) bool {
		fn, ok := d.(*ast.FuncDecl)
		return ok && fn.Recv == nil && fn.Name.Name == "init"
	})
}

// moduleFiles returns every Go file of the module, parsed. The tests share them and change none.
func moduleFiles(t *testing.T) []source {
	t.Helper()
	files, err := parsedModule()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("no files: the walk is broken")
	}
	return files
}

// parsedModule parses every Go file of the module, once for all tests, because that takes seconds
// under the race detector. It skips folders with their own go.mod.
var parsedModule = sync.OnceValues(func() (files []source, err error) {
	err = filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && skipDir(name):
			return filepath.SkipDir
		case !d.IsDir() && filepath.Ext(name) == ".go":
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			file, err := parsedFile(filepath.ToSlash(name), string(text))
			files = append(files, file)
			return err
		}
		return nil
	})
	return files, err
})

func skipDir(name string) bool {
	base := filepath.Base(name)
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || base == "node_modules" {
		return true // as the go command does
	}
	_, err := os.Stat(filepath.Join(name, "go.mod"))
	return err == nil
}

func parseSource(t *testing.T, name, text string) source {
	t.Helper()
	file, err := parsedFile(name, text)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func parsedFile(name, text string) (source, error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution)
	return source{name: name, dir: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), ast: file}, err
}

func importPath(spec *ast.ImportSpec) string {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value // the parser accepted it: compare the path as it is written
	}
	return p
}

// under matches a folder and everything below it.
func under(root string) func(string) bool {
	return func(dir string) bool { return dir == root || strings.HasPrefix(dir, root+"/") }
}

// anyDir matches the given folders and everything below them; "." is the root alone.
func anyDir(roots ...string) func(string) bool {
	return func(dir string) bool {
		return slices.ContainsFunc(roots, func(root string) bool { return under(root)(dir) })
	}
}

func nowhere(string) bool { return false }

func anyOf(roots ...string) func(from, to string) bool {
	return func(_, to string) bool { return anyDir(roots...)(to) }
}

func not(match func(string) bool) func(string) bool {
	return func(dir string) bool { return !match(dir) }
}

// spoke returns the folder directly below hub that contains dir: adapter/job for adapter/job/inner.
func spoke(hub, dir string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(dir, hub+"/"), "/")
	return path.Join(hub, name)
}

// heavy lists packages that a program which embeds Patchbay must not link.
var heavy = map[string]string{
	"github.com/nats-io/":       "the engine is a server: 20 MB and half of the build; plugin storage is an interface",
	"charm.land/":               "only the command uses a terminal, not the library",
	"github.com/charmbracelet/": "only the command uses a terminal, not the library",
	"github.com/spf13/":         "a program that embeds Patchbay has its own command line",

	module + "/internal/engine":        "a program that embeds Patchbay gives plugins a storage of its own, or none",
	module + "/internal/model":         "the library calls no model: only the agent does",
	"net/http":                         "it makes such a program a third larger, for MCP servers at an address alone: internal/mcphttp is handed in",
	"github.com/modelcontextprotocol/": "the library talks to MCP servers with internal/wire: see docs/decisions/0021-mcp.md",
}

// banned lists modules that the command must not need, directly or indirectly.
var banned = map[string]string{
	"github.com/openai/":     "it is half of the first build and a third of the program, for one call: see docs/decisions/0016-model-clients.md",
	"github.com/anthropics/": "it is half of the first build and a third of the program, for one call: see docs/decisions/0016-model-clients.md",
	"google.golang.org/grpc": "nothing here speaks gRPC, and it weighs 10 MB",
	module + "/sdk/":         sdkWhy,
	"github.com/prometheus/": "it is a tenth of the program, and a millisecond at each start, for ten numbers: see docs/decisions/0020-metrics.md",
}

// testsOnly lists packages that only tests may use.
var testsOnly = map[string]string{
	"github.com/santhosh-tekuri/jsonschema": "it compiles five metaschemas whenever a program starts that links it: see docs/decisions/0018-json-schema.md",
}

// TestTheLibraryIsLight: no chain of imports leads from the root package to a heavy one.
func TestTheLibraryIsLight(t *testing.T) {
	files := moduleFiles(t)
	for _, list := range []map[string]string{heavy, banned, testsOnly} {
		for _, fault := range tooHeavy(files, ".", list) {
			t.Error(fault)
		}
	}
}

// TestTheCommandIsLight: the command neither imports a banned module nor has one in its go.mod,
// which lists all modules that are needed indirectly.
func TestTheCommandIsLight(t *testing.T) {
	files := moduleFiles(t)
	for _, list := range []map[string]string{banned, testsOnly} {
		for _, fault := range tooHeavy(files, "cmd/patchbay", list) {
			t.Error(fault)
		}
	}
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range bannedModules(string(text)) {
		t.Error(fault)
	}
}

// TestTheSDKNeedsNothing: the SDK requires no other module, so that plugins which use it require
// none.
func TestTheSDKNeedsNothing(t *testing.T) {
	text, err := os.ReadFile("sdk/go/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "require") {
		t.Errorf("sdk/go/go.mod requires a module: the SDK is the standard library alone\n%s", text)
	}
}

// slow lists packages that patchbay-hook must not link. An agent waits for it at each event, and
// loading these packages takes longer than the daemon's answer.
var slow = map[string]string{
	"net/http":                        "patchbay-hook writes its one request without it",
	"github.com/spf13/":               "patchbay-hook reads the two words of its command line without it",
	"github.com/BurntSushi/":          "only the daemon reads the configuration",
	"github.com/pelletier/":           "only the daemon reads the configuration",
	"github.com/goccy/":               "only the daemon reads the configuration",
	"gopkg.in/":                       "only the daemon reads the configuration",
	module + "/internal/sandbox/jail": "it looks at the machine before main",
}

// TestTheHookIsLight: no chain of imports leads from patchbay-hook to a slow package.
func TestTheHookIsLight(t *testing.T) {
	for _, list := range []map[string]string{slow, heavy, banned, testsOnly} {
		for _, fault := range tooHeavy(moduleFiles(t), "cmd/patchbay-hook", list) {
			t.Error(fault)
		}
	}
}

// TestLightnessCanFail: an import far down the chain, and a module that is needed indirectly, are
// found.
func TestLightnessCanFail(t *testing.T) {
	files := []source{
		parseSource(t, "a.go", `package p; import "`+module+`/internal/x"`),
		parseSource(t, "internal/x/a.go", `package x; import "`+module+`/internal/y"`),
		parseSource(t, "internal/y/a.go", `package y; import "github.com/nats-io/nats.go"`),
		parseSource(t, "internal/z/a.go", `package z; import "github.com/openai/openai-go"`),
		parseSource(t, "internal/z/a_test.go", `package z; import "github.com/santhosh-tekuri/jsonschema/v6"`),
		parseSource(t, "internal/w/a.go", `package w; import "github.com/santhosh-tekuri/jsonschema/v6/kind"`),
		parseSource(t, "internal/z/b.go", `package z; import "`+module+`/internal/w"`),
		parseSource(t, "cmd/patchbay/a.go", `package main; import "`+module+`/internal/z"`),
	}
	got := tooHeavy(files, ".", heavy)
	if len(got) != 1 || !strings.Contains(got[0], ". → internal/x → internal/y → github.com/nats-io/nats.go") {
		t.Errorf("the library: got %q", got)
	}
	for _, what := range []string{"net/http", module + "/internal/model"} {
		with := append(slices.Clone(files), parseSource(t, "internal/y/b.go", `package y; import "`+what+`"`))
		if got := tooHeavy(with, ".", heavy); len(got) != 2 || !strings.Contains(got[1], ". → internal/x → internal/y → "+what) {
			t.Errorf("the library with %s: got %q", what, got)
		}
	}
	got = tooHeavy(files, "cmd/patchbay", banned)
	if len(got) != 1 || !strings.Contains(got[0], "cmd/patchbay → internal/z → github.com/openai/openai-go") {
		t.Errorf("the command: got %q", got)
	}
	files = append(files, parseSource(t, "cmd/patchbay-hook/a.go", `package main; import "`+module+`/internal/v"`),
		parseSource(t, "internal/v/a.go", `package v; import "net/http"`))
	if got := tooHeavy(files, "cmd/patchbay-hook", slow); len(got) != 1 || !strings.Contains(got[0], "cmd/patchbay-hook → internal/v → net/http") {
		t.Errorf("the program of the hooks: got %q", got)
	}
	got = tooHeavy(files, "cmd/patchbay", testsOnly)
	if len(got) != 1 || !strings.Contains(got[0], "internal/z → internal/w → github.com/santhosh-tekuri/jsonschema/v6/kind") {
		t.Errorf("the packages for tests only: got %q", got)
	}
	got = bannedModules("require (\n\tgithub.com/a/b v1.0.0\n\tgoogle.golang.org/grpc v1.64.1 // indirect\n)\nrequire github.com/openai/openai-go/v3 v3.0.0\n")
	if len(got) != 2 {
		t.Errorf("the modules: got %q", got)
	}
}

// bannedModules lists the lines of a go.mod that require a banned module.
func bannedModules(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		required := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "require"))
		for prefix, why := range banned {
			if strings.HasPrefix(required, prefix) {
				out = append(out, fmt.Sprintf("go.mod: %s: %s", required, why))
			}
		}
	}
	return out
}

// tooHeavy returns the chains of imports that lead from a folder to a package of a list.
func tooHeavy(files []source, from string, list map[string]string) []string {
	imports := make(map[string][]string) // by folder
	for _, f := range files {
		if f.test {
			continue
		}
		for _, spec := range f.ast.Imports {
			imports[f.dir] = append(imports[f.dir], importPath(spec))
		}
	}
	var out []string
	seen := map[string]bool{from: true}
	var walk func(dir, way string)
	walk = func(dir, way string) {
		for _, to := range imports[dir] {
			for prefix, why := range list {
				if strings.HasPrefix(to, prefix) {
					out = append(out, fmt.Sprintf("%s → %s: %s", way, to, why))
				}
			}
			if next, ok := strings.CutPrefix(to, module+"/"); ok && !seen[next] {
				seen[next] = true
				walk(next, way+" → "+next)
			}
		}
	}
	walk(from, from)
	return out
}

// TestPatternsCompile: every pattern compiles. A wrong one would end the program at its first use.
func TestPatternsCompile(t *testing.T) {
	patterns := 0
	for _, f := range moduleFiles(t) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || f.test {
				return true
			}
			fun, ok := call.Fun.(*ast.SelectorExpr)
			if x, named := selected(fun, ok); !named || x != "pattern" || fun.Sel.Name != "New" {
				return true
			}
			text, err := constant(call.Args[0])
			if err == nil {
				_, err = regexp.Compile(text)
			}
			if err != nil {
				t.Errorf("%s: %v", f.name, err)
			}
			patterns++
			return true
		})
	}
	if patterns < 10 {
		t.Errorf("only %d patterns were found", patterns)
	}
}

// selected returns the name before the dot.
func selected(fun *ast.SelectorExpr, ok bool) (string, bool) {
	if !ok {
		return "", false
	}
	x, ok := fun.X.(*ast.Ident)
	if !ok {
		return "", false
	}
	return x.Name, true
}

// constant returns the text of a string constant, or of several that are joined.
func constant(e ast.Expr) (string, error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		return strconv.Unquote(e.Value)
	case *ast.BinaryExpr:
		a, err := constant(e.X)
		if err != nil {
			return "", err
		}
		b, err := constant(e.Y)
		return a + b, err
	}
	return "", fmt.Errorf("the expression is not a constant")
}
