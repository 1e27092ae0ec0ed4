package patchbay_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A wording is a phrase that readers stumble over, and the reason to avoid it.
type wording struct {
	hints   []string // every match contains one of them, in lower case; searching for them first is fast
	pattern *regexp.Regexp
	allowed *regexp.Regexp // correct uses of the pattern, or nil
	why     string
}

// words builds a pattern that ignores case and finds whole words only.
func words(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?i)\b(?:` + pattern + `)\b`) }

// wordings is the list that TestProse checks in comments, messages and documents.
var wordings = []wording{
	{[]string{"nobody"}, words(`nobody`), regexp.MustCompile("`nobody`|\\b(?i:(?:user|as|become|becomes|becoming|to|of|and|for|by|root or|not) nobody|nobody's (?:uid|gid|group))"), "name the one who acts: \"no plugin answers\", \"without a terminal\"; only the user nobody has this name"},
	{[]string{"whoever"}, words(`whoever`), nil, "name the subject: the caller, the user, the process"},
	{[]string{"know"}, words(`knows? not|know not`), nil, "write \"does not know\""},
	{[]string{"none that"}, words(`is none that`), nil, "say what the thing is, not that it is none"},
	{[]string{" what "}, words(`(?:is|are|was|were) what (?:is|was|of|are|were)`), nil, "begin with a verb: \"returns\", \"holds\", \"lists\""},
	{[]string{"those"}, words(`(?:is|are) those (?:that|who|which)`), nil, "begin with a verb: \"lists\", \"holds\""},
	{[]string{"what is "}, words(`what is (?:kept|left|asked|to be)`), nil, "name the thing: \"the remaining bytes\", \"the stored value\""},
	{[]string{"who "}, words(`who (?:still|does|is)`), words(`(?:know|knows|says?|shows?|tells?|see|of|ask|asks) who is|who is (?:let|asked|who|confined)`), "name the subject: the caller, the user, the process"},
	{[]string{"mend"}, words(`mend|mends|mended|mending`), nil, "write \"fix\" or \"repair\""},
	{[]string{"nothing", "meaning at"}, words(`means? nothing|ha(?:s|ve) no meaning at`), nil, "say the effect: \"has no effect\", \"cannot be called at\", \"allows nothing\""},
	{[]string{"lest", "whence", "hither", "wherefore"}, words(`lest|whence|thither|hither|wherefore`), nil, "an ordinary word reads faster: \"so that … not\", \"where from\""},
	{[]string{"no sense"}, words(`makes? no sense`), nil, "say what is wrong with it"},
	{[]string{"mourn", "bury", "buri", "obituar", "rites", "leash", "graveyard", "tombstone"}, words(`mourn\w*|bury|buries|buried|obituar\w+|last rites|leash\w*|graveyards?|tombstones?`), nil, "no metaphors: say what the code does"},
	{[]string{"seed", "ruling", "design", "style.md", "dialects.md"}, words(`seed 00[0-9]|the rulings?|the seeds? (?:says?|wants?|rules?|prints?)|DESIGN(?:\.md)?,? (?:section )?[0-9]+|STYLE\.md|dialects\.md`), nil, "cite a page of docs/, which a reader can open"},
}

// functionNames are names without an object: a verb that does not say what it acts on, or a metaphor.
var functionNames = map[string]string{
	"settle":    "say what is decided, stored or waited for",
	"settled":   "say what is checked, decided or read",
	"those":     "say which ones: matching, chosen, missing",
	"said":      "say what is returned, or what is reported",
	"mourn":     "no metaphors",
	"bury":      "no metaphors",
	"obituary":  "no metaphors",
	"lastRites": "no metaphors",
	"leash":     "no metaphors",
	"helper":    "say what it does",
	"handle":    "say what it does",
	"process":   "say what is done",
}

// commentWidth is the widest line of a comment, with a tab counted as four columns. Longer ones are
// directives, addresses and tables.
const commentWidth = 100

// TestProse checks the comments, messages and documents of the whole repository against wordings.
func TestProse(t *testing.T) {
	passages := 0
	for _, p := range repositoryProse(t) {
		passages++
		for _, complaint := range complaints(p.text) {
			t.Errorf("%s: %s", p.place, complaint)
		}
	}
	if passages < 10_000 {
		t.Errorf("only %d passages were read: the walk is broken", passages)
	}
}

// TestProseCanFail: each entry of the list finds its words, and no entry complains about plain
// text.
func TestProseCanFail(t *testing.T) {
	for _, text := range []string{
		"nil: nobody watches", "whoever asks", "words know not who keeps them", "a file is none that is read",
		"room is what is left", "these are those that ran", "what is kept of it", "who still runs", "how to mend it",
		"closed lest it hang", "the command line makes no sense", "wait, mourn, open again", "as seed 003 says",
		"DESIGN 2 has the table", "the rulings say so", "an empty list means nothing", "the hook has no meaning at this point",
	} {
		if len(complaints(text)) == 0 {
			t.Errorf("no complaint about %q", text)
		}
	}
	for _, text := range []string{"runs as nobody, in a directory", "the seeds of a fuzz target", "the design has two halves", "recommended, amended"} {
		if got := complaints(text); len(got) != 0 {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// complaints returns a complaint for each wording that the text contains.
func complaints(text string) []string {
	var out []string
	lower := strings.ToLower(text)
	for _, w := range wordings {
		if !slices.ContainsFunc(w.hints, func(hint string) bool { return strings.Contains(lower, hint) }) {
			continue
		}
		rest := text
		if w.allowed != nil {
			rest = w.allowed.ReplaceAllString(text, "")
		}
		if found := w.pattern.FindString(rest); found != "" {
			out = append(out, fmt.Sprintf("%q in %q: %s", found, around(rest, found), w.why))
		}
	}
	return out
}

// around returns found with up to 40 bytes of text on each side.
func around(text, found string) string {
	at := strings.Index(text, found)
	return strings.ToValidUTF8(text[max(0, at-40):min(len(text), at+len(found)+40)], "")
}

// A passage is one text that people read: a comment, a message, a paragraph.
type passage struct{ place, text string }

// repositoryProse returns every passage of the repository that people read.
func repositoryProse(t *testing.T) []passage {
	t.Helper()
	var out []passage
	for _, f := range readRepository(t, "") {
		switch filepath.Ext(f.name) {
		case ".go":
			out = append(out, goProse(f)...)
		case ".md":
			out = append(out, paragraphs(f.name, f.text)...)
		default:
			out = append(out, lines(f.name, f.text)...)
		}
	}
	return out
}

// A file is a text file of the repository.
type file struct {
	name, text string
	set        *token.FileSet // of Go files
	ast        *ast.File      // of Go files
}

// repositoryFiles reads the text files that we wrote: no test data, no copies, nothing built.
var repositoryFiles = sync.OnceValues(func() ([]file, error) {
	var files []file
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch base := filepath.Base(name); {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || slices.Contains([]string{"testdata", "node_modules", "dist", "bin"}, base)):
			return filepath.SkipDir
		case d.IsDir() || name == "prose_test.go": // this file quotes the wordings
			return nil
		}
		if !slices.Contains([]string{".go", ".md", ".py", ".js", ".ts", ".svelte", ".sh", ".toml", ".yaml"}, filepath.Ext(name)) {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		f := file{name: filepath.ToSlash(name), text: string(text), set: token.NewFileSet()}
		if filepath.Ext(name) == ".go" {
			f.ast, err = parser.ParseFile(f.set, name, text, parser.ParseComments|parser.SkipObjectResolution)
		}
		files = append(files, f)
		return err
	})
	return files, err
})

// readRepository returns the text files of the repository that have an extension; "" means all.
func readRepository(t *testing.T, extension string) []file {
	t.Helper()
	files, err := repositoryFiles()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(slices.Clone(files), func(f file) bool { return extension != "" && filepath.Ext(f.name) != extension })
}

// goProse returns the comments and the string literals of a Go file.
func goProse(f file) []passage {
	var out []passage
	add := func(pos token.Pos, text string) {
		out = append(out, passage{fmt.Sprintf("%s:%d", f.name, f.set.Position(pos).Line), strings.Join(strings.Fields(text), " ")})
	}
	for _, group := range f.ast.Comments {
		add(group.Pos(), group.Text())
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil && strings.Contains(text, " ") {
				add(literal.Pos(), text)
			}
		}
		return true
	})
	return out
}

// paragraphs returns the paragraphs of a Markdown file, without its blocks of code.
func paragraphs(name, text string) []passage {
	var out []passage
	var open []string
	start, fenced := 0, false
	end := func() {
		if len(open) > 0 {
			out = append(out, passage{fmt.Sprintf("%s:%d", name, start), strings.Join(open, " ")})
		}
		open = nil
	}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if line == "" || fenced || strings.HasPrefix(line, "```") || strings.HasPrefix(line, "|") {
			end()
			if strings.HasPrefix(line, "|") {
				out = append(out, passage{fmt.Sprintf("%s:%d", name, i+1), line})
			}
			continue
		}
		if len(open) == 0 {
			start = i + 1
		}
		open = append(open, line)
	}
	end()
	return out
}

// lines returns the lines of a file.
func lines(name, text string) []passage {
	var out []passage
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, passage{fmt.Sprintf("%s:%d", name, i+1), line})
		}
	}
	return out
}

// TestNames: the name of a function says what it does, and to what.
func TestNames(t *testing.T) {
	for _, f := range readRepository(t, ".go") {
		for _, decl := range f.ast.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok && functionNames[d.Name.Name] != "" {
				t.Errorf("%s:%d: a function called %s: %s", f.name, f.set.Position(d.Pos()).Line, d.Name.Name, functionNames[d.Name.Name])
			}
		}
	}
}

var (
	citedPage = regexp.MustCompile(`\bdocs/[a-z0-9/_-]+\.md(#[a-z0-9_-]+)?`)
	citedRow  = regexp.MustCompile(`(docs/protocols/([a-z]+)\.md),? rows? ([A-Z]+[0-9]+)`)
	citedRows = regexp.MustCompile(`\brows? ((?:[A-Z]+[0-9]+(?:, | and | to )?)+) of (docs/protocols/[a-z]+\.md)`)
	rowNumber = regexp.MustCompile(`[A-Z]+[0-9]+`)
)

// TestCitations: each page, heading and row that the code cites exists.
func TestCitations(t *testing.T) {
	cited := 0
	for _, f := range readRepository(t, ".go") {
		for _, p := range goProse(f) {
			if !strings.Contains(p.text, "docs/") {
				continue
			}
			for _, complaint := range brokenCitations(t, p.text) {
				t.Errorf("%s: %s", p.place, complaint)
			}
			cited += len(citedPage.FindAllString(p.text, -1))
		}
	}
	if cited < 100 {
		t.Errorf("only %d citations were found: the pattern is broken", cited)
	}
}

// TestCitationsCanFail: pages, headings and rows that do not exist are found.
func TestCitationsCanFail(t *testing.T) {
	for _, text := range []string{"see docs/nowhere.md", "see docs/engine.md#nothing-like-it", "docs/protocols/scaffold.md, row S999", "rows S1 and S999 of docs/protocols/scaffold.md"} {
		if len(brokenCitations(t, text)) != 1 {
			t.Errorf("%q: %q", text, brokenCitations(t, text))
		}
	}
	if got := brokenCitations(t, "docs/protocols/scaffold.md, row S1, and docs/engine.md"); len(got) != 0 {
		t.Errorf("got %q", got)
	}
}

// brokenCitations lists the pages, headings and rows in a text that do not exist.
func brokenCitations(t *testing.T, text string) []string {
	t.Helper()
	var out []string
	for _, whole := range citedPage.FindAllString(text, -1) {
		path, heading, _ := strings.Cut(whole, "#")
		_, err := os.Stat(path)
		switch {
		case err != nil:
			out = append(out, fmt.Sprintf("%s does not exist", path))
		case heading != "" && !slices.Contains(anchors(t, path), heading):
			out = append(out, fmt.Sprintf("%s has no heading #%s", path, heading))
		}
	}
	rows := make(map[string][]string) // by page
	for _, m := range citedRow.FindAllStringSubmatch(text, -1) {
		rows[m[1]] = append(rows[m[1]], m[3])
	}
	for _, m := range citedRows.FindAllStringSubmatch(text, -1) {
		rows[m[2]] = append(rows[m[2]], rowNumber.FindAllString(m[1], -1)...)
	}
	for path, numbers := range rows {
		page, _ := os.ReadFile(path) // a page that is missing was reported above
		for _, number := range numbers {
			if len(page) > 0 && !strings.Contains(string(page), "\n| "+number+" |") {
				out = append(out, fmt.Sprintf("%s has no row %s", path, number))
			}
		}
	}
	return out
}

// directive matches the comments that must stay on one line: for tools, addresses, drawings and
// tables.
var directive = regexp.MustCompile(`^//(?:go:|line |nolint|lint:|\t| *\|)|https?://\S{40,}`)

// TestCommentWidth: comments are filled to one width. The output of an Example may be wider,
// because the test compares it as it is.
func TestCommentWidth(t *testing.T) {
	for _, f := range readRepository(t, ".go") {
		output := false
		for i, line := range strings.Split(f.text, "\n") {
			columns := len([]rune(strings.ReplaceAll(line, "\t", "    ")))
			line = strings.TrimSpace(line)
			output = strings.HasPrefix(line, "//") && (output || strings.HasPrefix(line, "// Output:"))
			if strings.HasPrefix(line, "//") && !output && columns > commentWidth && !directive.MatchString(line) {
				t.Errorf("%s:%d: a comment of %d columns; the limit is %d", f.name, i+1, columns, commentWidth)
			}
		}
	}
}
