package tui

import (
	"slices"
	"strings"

	"charm.land/glamour/v2"
	gansi "charm.land/glamour/v2/ansi"
	"charm.land/glamour/v2/styles"
	"github.com/charmbracelet/x/ansi"

	"github.com/patchbay-dev/patchbay/internal/render"
)

// maxMarkdown is the longest text that is parsed as markdown; one that is
// longer is shown as it is. A parser may take more than linear time.
const maxMarkdown = 256 << 10

// codeMargin sets code in a reply off from its text.
const codeMargin = 2

// markdown draws foreign markdown in lines of at most width columns.
func (l look) markdown(text string, width int) []string {
	return l.drawMarkdown(text, width, l.markdownStyle(codeMargin))
}

// source draws foreign source code.
func (l look) source(language, text string, width int) []string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	text = strings.TrimRight(text, "\n")
	return l.drawMarkdown(fence+language+"\n"+text+"\n"+fence, width, l.markdownStyle(0))
}

func (l look) drawMarkdown(text string, width int, style gansi.StyleConfig) []string {
	text = strings.Trim(text, "\n")
	plain := render.Block(text)
	if len(text) > maxMarkdown {
		return wrap(plain, width)
	}
	drawn, ok := glamourText(plain, width, style)
	if !ok {
		return wrap(plain, width)
	}
	return tidy(keepStyles(drawn), width)
}

// glamourText draws markdown. The parser and the highlighters are many and not
// ours, and the text is foreign: where one of them panics, the reply is not lost.
func glamourText(text string, width int, style gansi.StyleConfig) (drawn string, ok bool) {
	defer func() {
		if recover() != nil {
			drawn, ok = "", false
		}
	}()
	r, err := glamour.NewTermRenderer(glamour.WithStyles(style), glamour.WithWordWrap(width),
		glamour.WithChromaFormatter("terminal16"))
	if err != nil {
		return "", false
	}
	drawn, err = r.Render(text)
	return drawn, err == nil
}

// tidy drops the padding that glamour writes to the right of and around what it
// draws, and breaks lines that it leaves too long (code, tables).
func tidy(text string, width int) []string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		out = append(out, wrap(trimRight(line), width)...)
	}
	for len(out) > 0 && strings.TrimSpace(ansi.Strip(out[0])) == "" {
		out = out[1:]
	}
	for len(out) > 0 && strings.TrimSpace(ansi.Strip(out[len(out)-1])) == "" {
		out = out[:len(out)-1]
	}
	return out
}

// trimRight cuts the spaces at the end of a styled line, styled or not.
func trimRight(line string) string {
	bare := strings.TrimRight(ansi.Strip(line), " ")
	return ansi.Truncate(line, ansi.StringWidth(bare), "")
}

// keepStyles lets through, of the control characters in drawn markdown, line
// ends and the sequences that colour text; all else is shown escaped. Markdown
// spells characters as references (&#27;), so that text which had no control
// characters before it was drawn may have some after. Links lose the sequence
// that makes them clickable: it could name another address than the one that is read.
func keepStyles(text string) string {
	var b strings.Builder
	var state byte
	for len(text) > 0 {
		seq, _, n, next := ansi.DecodeSequence(text, state, nil)
		state = next
		switch {
		case isStyle(seq) || seq == "\n":
			b.WriteString(seq)
		case strings.HasPrefix(seq, "\x1b]8;"):
		default:
			b.WriteString(render.Line(seq))
		}
		text = text[n:]
	}
	return b.String()
}

// isStyle tells a "select graphic rendition" sequence that hides nothing.
func isStyle(seq string) bool {
	params, ok := strings.CutPrefix(seq, "\x1b[")
	params, end := strings.CutSuffix(params, "m")
	if !ok || !end || strings.Trim(params, "0123456789;") != "" {
		return false
	}
	list := strings.Split(params, ";")
	if list[0] == "38" || list[0] == "48" {
		return true // a colour by its number, which may be any
	}
	const conceal = "8"
	return !slices.ContainsFunc(list, func(p string) bool { return strings.TrimLeft(p, "0") == conceal })
}

// markdownStyle uses the sixteen colours of the terminal's own theme, as package
// render does; without colours, markdown keeps its marks.
func (l look) markdownStyle(codeMargin uint) gansi.StyleConfig {
	style := styles.ASCIIStyleConfig
	none := uint(0)
	style.Document = gansi.StyleBlock{Margin: &none}
	style.CodeBlock.Margin = &codeMargin
	style.HorizontalRule.Format = "\n────────\n"
	style.BlockQuote.IndentToken = ptr("│ ")
	style.List.LevelIndent = 2
	style.Table = gansi.StyleTable{} // drawn with lines
	style.Code.StylePrimitive = gansi.StylePrimitive{Prefix: "`", Suffix: "`"}
	if !l.color {
		return style
	}
	bold := gansi.StylePrimitive{Bold: ptr(true)}
	style.Heading.StylePrimitive = gansi.StylePrimitive{BlockSuffix: "\n", Bold: ptr(true), Color: ptr("4")}
	style.H1.Prefix, style.H1.Underline = "", ptr(true)
	style.H2.Prefix, style.H3.Prefix = "", ""
	style.Strong, style.Emph = bold, gansi.StylePrimitive{Italic: ptr(true)}
	style.Strikethrough = gansi.StylePrimitive{CrossedOut: ptr(true)}
	style.Code.StylePrimitive = gansi.StylePrimitive{Color: ptr("6")}
	style.Link = gansi.StylePrimitive{Color: ptr("4"), Underline: ptr(true)}
	style.LinkText = bold
	style.HorizontalRule.Faint = ptr(true)
	style.CodeBlock.Chroma = codeColors()
	return style
}

// codeColors are for source in replies. The names are chroma's for the terminal's own colours.
func codeColors() *gansi.Chroma {
	color := func(name string) gansi.StylePrimitive { return gansi.StylePrimitive{Color: ptr("#ansi" + name)} }
	return &gansi.Chroma{
		Comment: color("darkgray"), CommentPreproc: color("darkgray"),
		Keyword: color("purple"), KeywordReserved: color("purple"), KeywordNamespace: color("purple"),
		KeywordType: color("teal"), NameBuiltin: color("teal"), NameClass: color("teal"),
		NameFunction: color("darkblue"), NameDecorator: color("brown"), NameTag: color("darkblue"),
		LiteralString: color("darkgreen"), LiteralStringEscape: color("brown"), LiteralNumber: color("brown"),
		GenericDeleted: color("darkred"), GenericInserted: color("darkgreen"),
	}
}

func ptr[T any](v T) *T { return &v }
