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
	"testing"
)

// Who may import whom, and what only a few may do. The files are parsed rather than asked of `go
// list`, whose answer can come from a cache that does not know of the latest import. Tests may
// import what they like.

const module = "github.com/patchbay-dev/patchbay"

// notYet are folders that rules speak of and that are still to come. A folder that has come must
// leave the list.
var notYet = []string{}

// leaves may import of the module what is listed, and nothing else.
var leaves = map[string]struct {
	may []string
	why string
}{
	"rawjson":                 {nil, "JSON knows nobody"},
	"web":                     {nil, "the page's files know not who serves them"},
	"internal/pattern":        {nil, "an expression knows not what it is matched with"},
	"internal/excerpt":        {nil, "a text is shortened without knowing whose it is"},
	"internal/nearest":        {nil, "spelling knows nobody"},
	"internal/newplugin":      {[]string{"internal/nearest", "internal/pattern"}, "it writes files, and knows not who runs them"},
	"internal/pause":          {nil, "time passes for everybody alike"},
	"internal/project":        {nil, "a directory knows not who works in it"},
	"internal/projectfiles":   {[]string{"internal/config", "internal/pattern", "internal/plainfile", "internal/scratch", "internal/trust"}, "it reads files and starts nothing; who asks the person calls it"},
	"internal/plainfile":      {nil, "a file is read without knowing what for"},
	"internal/atomicfile":     {nil, "a file is replaced without knowing what for"},
	"internal/editfile":       {[]string{"internal/atomicfile", "internal/plainfile"}, "a file is changed without knowing what for"},
	"internal/secretenv":      {nil, "a list of names knows nobody"},
	"internal/guard":          {nil, "it takes over before main: nothing else may run by then"},
	"internal/capability":     {[]string{"internal/schema"}, "words know not who keeps them"},
	"internal/schema":         {[]string{"rawjson"}, "a check knows not whose manifest it is for"},
	"internal/schema/sample":  {[]string{"internal/schema"}, "a value knows not whose schema it fits"},
	"internal/mcpcall":        {nil, "what travels with a call knows neither end of it"},
	"internal/mcphttp":        {[]string{"internal/mcpcall"}, "a client knows addresses, not what is asked of them"},
	"internal/mcpinstall":     {[]string{"internal/editfile"}, "it knows files of agents, not what runs behind an entry"},
	"internal/wire":           {[]string{"internal/excerpt", "rawjson"}, "framing knows no dialect and no point"},
	"internal/limits":         {nil, "it bounds a process, and starts none"},
	"internal/program":        {[]string{"internal/excerpt", "internal/pattern"}, "it looks at files, and starts none"},
	"internal/proc":           {[]string{"internal/guard", "internal/limits", "internal/program"}, "a process knows not what is said to it"},
	"hook":                    {[]string{"rawjson"}, "the core knows neither dialects nor hosts, and does no I/O"},
	"internal/document":       {[]string{"internal/excerpt", "internal/nearest", "internal/pattern", "internal/schema", "rawjson"}, "what keys mean is for its callers to say"},
	"internal/sandbox/broker": {nil, "it knows grants and sockets, not whose"},
	"internal/sandbox/jail":   {nil, "it takes over before main: nothing else may run by then"},
	"internal/sandbox":        {[]string{"internal/capability", "internal/doors", "internal/limits", "internal/proc", "internal/program", "internal/sandbox/broker", "internal/sandbox/jail", "internal/scratch"}, "a sandbox knows not whose plugin is in it"},
	"adapter/codehook":        {[]string{"hook", "rawjson"}, "it reads and writes words: who has the plugins calls it"},
	"internal/version":        {nil, "a number knows nobody"},
	"internal/homedirs":       {nil, "places are found by the environment alone, so that the smallest program can"},
	"internal/config":         {[]string{"internal/pattern", "internal/document", "internal/capability", "internal/homedirs", "internal/plainfile"}, "what the config means is for its readers to say"},
	"internal/localsock":      {nil, "sockets know not what is said over them"},
	"internal/filelock":       {nil, "a lock knows not what it is for"},
	"internal/approval":       {[]string{"internal/atomicfile", "internal/filelock", "internal/plainfile", "rawjson"}, "it compares command lines, and runs none"},
	"internal/attach":         {[]string{"internal/excerpt", "internal/plainfile"}, "it makes a text of files, and knows not who reads it"},
	"internal/trust":          {[]string{"internal/atomicfile", "internal/document", "internal/filelock", "internal/plainfile"}, "it knows files and their sums, not what they do"},
	"internal/pluginlog":      {[]string{"internal/excerpt", "internal/filelock", "internal/pause"}, "lines know not who keeps them"},
	"internal/plugindir":      {[]string{"internal/dialect", "internal/pattern", "internal/plainfile", "internal/pluginhost"}, "it says what is there, and not what becomes of it"},
	"internal/plugininstall":  {[]string{"internal/config", "internal/dialect", "internal/excerpt", "internal/pattern", "internal/plainfile", "internal/plugindir", "internal/pluginhost", "internal/proc", "internal/scratch", "internal/trust"}, "it puts files in place, and knows neither terminal nor daemon"},
	"internal/proc/detached":  {nil, "a process that is nobody's child knows nobody"},
	"internal/hookroad":       {[]string{"adapter/codehook", "hook", "internal/atomicfile", "internal/filelock", "internal/homedirs", "internal/localsock", "internal/pause", "internal/plainfile", "internal/proc/detached", "internal/project", "internal/version"}, "an agent waits for it at each event: it must start in no time"},
	"internal/doors":          {[]string{"internal/localsock", "internal/sandbox/jail"}, "it knows processes and addresses, not what is served"},
	"internal/engine":         {[]string{"internal/atomicfile", "internal/config", "internal/doors", "internal/filelock", "internal/localsock", "internal/engine/blocks", "internal/engine/archive", "internal/pause", "internal/plainfile"}, "it keeps bytes, and knows not whose"},
	"internal/engine/blocks":  {[]string{"internal/atomicfile"}, "files on disk; it never talks to a server"},
	"internal/engine/archive": {[]string{"internal/engine/blocks"}, "a file format; it asks no server for anything"},
	"internal/places":         {[]string{"internal/capability", "internal/config", "internal/editfile", "internal/localsock", "internal/project", "internal/sandbox"}, "a list of places knows nobody who asks for it"},
	"internal/model":          {[]string{"internal/config", "rawjson", "internal/excerpt", "internal/nearest", "internal/pause", "internal/plainfile"}, "a model knows messages, not who sends them"},
	"internal/plugindev":      {[]string{"hook", "internal/config", "internal/dialect", "internal/nearest", "internal/pluginhost", "internal/render", "internal/schema/sample", "rawjson"}, "it tells what happens to a plugin, and draws no screen"},
	"internal/notify":         {[]string{"internal/document", "internal/engine", "internal/nearest", "internal/pause", "internal/proc"}, "a messenger knows not what runs"},
	"internal/lease":          {[]string{"internal/guard"}, "it knows processes, not what they hold"},
	"internal/scratch":        {[]string{"internal/pattern", "internal/lease"}, "a directory knows not what for"},
	"internal/session":        {[]string{"internal/model"}, "values know not who keeps them"},
	"internal/sessionstore":   {[]string{"internal/engine", "internal/lease", "internal/model", "internal/pause", "internal/session", "rawjson"}, "a transcript knows not what runs its turns"},
	"internal/feature":        {nil, "a flag knows not what it switches"},
	"internal/featurestore":   {[]string{"internal/engine", "internal/feature"}, "it keeps flags, and knows not what they switch"},
	"internal/journal":        {[]string{"internal/engine", "rawjson"}, "it keeps events, and knows not what they say"},
	"internal/otlp":           {[]string{"hook", "internal/excerpt", "internal/pause", "internal/version"}, "it knows spans and collectors, not where events are kept"},
	"internal/entry":          {[]string{"rawjson"}, "bounds know not where things are kept"},
	"filestore":               {[]string{".", "internal/entry", "rawjson"}, "it is for programs that embed Patchbay without an engine"},
	"internal/pythonfile":     {[]string{"hook", "internal/dialect", "internal/dialect/python", "internal/plainfile", "internal/pluginhost", "rawjson"}, "of all dialects it knows python alone, and stands on the host"},
	"internal/storage":        {[]string{"internal/config", "internal/engine", "internal/entry"}, "it knows keys and values, not who has them"},
}

// sdkWhy is the reason against imports of the SDK.
const sdkWhy = "the SDK is the plugins' side of the protocols, a module of its own: with it a host would hold plugins to what it believes itself"

// dialects is the folder of the plugin protocols.
const dialects = "internal/dialect"

// A bar keeps the folders that match from importing those that are barred. Folders are relative to
// the module; the root is ".".
type bar struct {
	from   func(dir string) bool
	barred func(from, to string) bool
	why    string
}

var bars = []bar{
	{under(dialects), func(from, to string) bool {
		return under(dialects)(to) && spoke(dialects, from) != spoke(dialects, to) && to != dialects
	}, "a dialect never knows another: what two share belongs in package dialect"},
	{under(dialects), anyOf(".", "adapter", "internal/pluginhost", "internal/cli", "internal/daemon", "cmd"),
		"a dialect is below the host, and knows not who fires its hooks"},
	{under("adapter"), func(from, to string) bool {
		return under("adapter")(to) && spoke("adapter", from) != spoke("adapter", to) && to != "adapter"
	}, "an adapter never knows another: what two share belongs in package adapter"},
	{under("adapter"), anyOf(".", dialects, "internal/pluginhost", "internal/cli", "cmd"),
		"an adapter declares the small interface it needs, and the host satisfies it"},
	{not(anyDir(".", "internal/pluginhost", "internal/pythonfile", dialects, "internal/demo", "internal/plugtest", "internal/conformance")), func(_, to string) bool { return under(dialects)(to) && to != dialects },
		"only the host lists the dialects, by hand, and the kit that holds plugins against each of them"},
	{anyDir(".", "internal/pluginhost"), anyOf("adapter", "internal/pythonfile", "internal/cli", "internal/daemon", "cmd"),
		"the library is below the daemon and the command"},
	{not(anyDir("filestore", "examples")), anyOf("filestore"),
		"filestore is for programs that embed Patchbay; inside, storage is handed in or is the engine's"},
	{not(anyDir("examples", "filestore")), anyOf("."),
		"the root is for programs that embed Patchbay; inside, everything uses what is behind it"},
	{anyDir("adapter/chat", "adapter/httpapi", "internal/tui"), anyOf("internal/engine", "internal/sessionstore", "internal/journal", "internal/storage"),
		"the agent, its API and its screen are given values, wherever they are kept"},
	{under("internal/daemon"), anyOf("internal/cli", "cmd"),
		"the daemon is below the command"},
	{under("internal/tui"), anyOf(".", dialects, "internal/pluginhost", "internal/daemon", "internal/cli", "cmd"),
		"a screen is given its conversation, and knows not who runs it"},
	{not(anyDir("cmd")), anyOf("internal/cli", "cmd"),
		"nothing but main needs the command line"},
	{under("internal/recording"), anyOf("internal/daemon", "internal/engine", "internal/journal", "internal/storage"),
		"a recording is played without anything of the person's: no journal, no sessions, no storage"},
	{not(anyDir("internal/plugtest")), anyOf("internal/plugtest"),
		"test fakes stay out of the product"},
	{func(string) bool { return true }, anyOf("sdk"), sdkWhy},
}

// A privilege is something only some folders may use: a whole package, or names of one.
type privilege struct {
	pkg   string
	names []string // empty: the import itself
	in    func(dir string) bool
	why   string
}

// linkerWhy is the reason against packages that look up methods by names which are known only at
// run time.
const linkerWhy = "it makes the linker keep every exported method of the program, 6 MB of them: see docs/decisions/0017-what-the-linker-drops.md"

var privileges = []privilege{
	{"os/exec", nil, anyDir("internal/proc", "internal/plugtest", "examples"),
		"one package starts every child: else groups, guardian and environment are forgotten somewhere"},
	{"os", []string{"Exit", "Args", "Stdout", "Stderr"},
		anyDir("internal/cli", "cmd", "internal/guard", "internal/sandbox/jail", "internal/plugtest", "sdk", "examples"),
		"a library must not speak for the program that embeds it (the SDK runs in the plugin, which is a program)"},
	{"fmt", []string{"Print", "Printf", "Println"},
		anyDir("cmd", "internal/plugtest", "sdk", "examples"),
		"that is os.Stdout by another name; the command line writes to its streams"},
	{"text/template", nil, nowhere, linkerWhy},
	{"html/template", nil, nowhere, linkerWhy},
	{"net/rpc", nil, nowhere, linkerWhy},
}

// initIn are the folders that may have an init function.
var initIn = anyDir("internal/guard", "internal/sandbox/jail")

// TestArchitecture holds the module's own files against the rules.
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

// TestArchitectureNamesRealFolders keeps the rules from outliving what they guard.
func TestArchitectureNamesRealFolders(t *testing.T) {
	names := []string{dialects, "internal/pluginhost", "adapter", "cmd/patchbay", "internal/cli", "internal/daemon", "internal/demo", "internal/plugtest", "sdk/go"}
	for dir := range leaves {
		names = append(names, dir)
	}
	for _, dir := range names {
		_, err := os.Stat(filepath.FromSlash(dir))
		switch exists := err == nil; {
		case !exists && !slices.Contains(notYet, dir):
			t.Errorf("a rule names the folder %s, which is gone", dir)
		case exists && slices.Contains(notYet, dir):
			t.Errorf("the folder %s has come: take it off notYet", dir)
		}
	}
}

// TestArchitectureRulesCanFail gives each rule a file that breaks it, and one beside it that does
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

// faults are the rules that a file breaks.
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
		broken("have an init function", "what happens on import cannot be tested, ordered or left out")
	}
	return out
}

// undocumented are the packages that do not say what they are.
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
			out = append(out, fmt.Sprintf("%s: no package comment; doc.go says what it is, what it is not, and how its main flow runs", dir))
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

// uses are the uses of names of pkg; without names, the import of pkg.
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

// moduleFiles parses every Go file of the module. Folders with a go.mod of their own are other
// modules.
func moduleFiles(t *testing.T) []source {
	t.Helper()
	var files []source
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
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
			files = append(files, parseSource(t, filepath.ToSlash(name), string(text)))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("no files: the walk is broken")
	}
	return files
}

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
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return source{name: name, dir: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), ast: file}
}

func importPath(spec *ast.ImportSpec) string {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value // the parser has let it pass: compare it as it is
	}
	return p
}

// under matches a folder and all below it.
func under(root string) func(string) bool {
	return func(dir string) bool { return dir == root || strings.HasPrefix(dir, root+"/") }
}

// anyDir matches the folders named and all below them; "." is the root alone.
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

// spoke is the folder below a hub that another lies in: adapter/job of adapter/job/inner.
func spoke(hub, dir string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(dir, hub+"/"), "/")
	return path.Join(hub, name)
}

// heavy are packages of others that a program which embeds Patchbay must not get.
var heavy = map[string]string{
	"github.com/nats-io/":       "the engine is a server: 20 MB and half of the build; plugin storage is an interface",
	"charm.land/":               "a terminal is the command's affair, not the library's",
	"github.com/charmbracelet/": "a terminal is the command's affair, not the library's",
	"github.com/spf13/":         "a command line is the program's own",

	"github.com/modelcontextprotocol/": "servers are spoken to with the library's own wire: see docs/decisions/0021-mcp.md",
}

// banned are modules that not even the command may have, by itself or through others.
var banned = map[string]string{
	"github.com/openai/":     "half of the first build and a third of the program for one call: see docs/decisions/0016-model-clients.md",
	"github.com/anthropics/": "half of the first build and a third of the program for one call: see docs/decisions/0016-model-clients.md",
	"google.golang.org/grpc": "nothing here speaks gRPC, and it weighs 10 MB",
	module + "/sdk/":         sdkWhy,
	"github.com/prometheus/": "a tenth of the program, and a millisecond at each start, for ten numbers: see docs/decisions/0020-metrics.md",
}

// testsOnly are packages of others that tests may use, and nothing that is linked.
var testsOnly = map[string]string{
	"github.com/santhosh-tekuri/jsonschema": "it compiles five metaschemas whenever a program starts that links it: see docs/decisions/0018-json-schema.md",
}

// TestTheLibraryIsLight follows the imports of the root through the module: none of them may lead
// to what is heavy.
func TestTheLibraryIsLight(t *testing.T) {
	files := moduleFiles(t)
	for _, list := range []map[string]string{heavy, banned, testsOnly} {
		for _, fault := range tooHeavy(files, ".", list) {
			t.Error(fault)
		}
	}
}

// TestTheCommandIsLight follows the imports of the command, and looks through go.mod: it names
// every module that a package of ours or of others needs.
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

// TestTheSDKNeedsNothing: the SDK requires no other module, so a plugin that uses it does not
// either.
func TestTheSDKNeedsNothing(t *testing.T) {
	text, err := os.ReadFile("sdk/go/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "require") {
		t.Errorf("sdk/go/go.mod requires a module: the SDK is the standard library alone\n%s", text)
	}
}

// slow are packages that a program which agents wait for at each event must not get: loading them
// takes longer than the daemon takes to answer.
var slow = map[string]string{
	"net/http":                        "one request is spoken by hand",
	"github.com/spf13/":               "two words of a command line are read by hand",
	"github.com/BurntSushi/":          "the configuration is the daemon's affair",
	"github.com/pelletier/":           "the configuration is the daemon's affair",
	"github.com/goccy/":               "the configuration is the daemon's affair",
	"gopkg.in/":                       "the configuration is the daemon's affair",
	module + "/internal/sandbox/jail": "it looks at the machine before main",
}

// TestTheHookIsLight follows the imports of the program that agents start for each event.
func TestTheHookIsLight(t *testing.T) {
	for _, list := range []map[string]string{slow, heavy, banned, testsOnly} {
		for _, fault := range tooHeavy(moduleFiles(t), "cmd/patchbay-hook", list) {
			t.Error(fault)
		}
	}
}

// TestLightnessCanFail plants imports far down, and modules that others need.
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
		t.Errorf("what tests may use: got %q", got)
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

// tooHeavy lists the ways from a folder to a package of a list, as chains of imports.
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

// TestPatternsCompile: one that is wrong would end the program at its first use.
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

// selected is the name before the dot.
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

// constant is the text of a string, or of several that are put together.
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
	return "", fmt.Errorf("the expression is no constant")
}
