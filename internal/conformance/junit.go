package conformance

import (
	"fmt"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/atomicfile"
)

// WriteJUnit writes a report to a file as JUnit XML, whole or not at all. A warning is a test that
// passed, with the warning as its output.
func WriteJUnit(path string, r *Report, took time.Duration) error {
	return atomicfile.Write(path, junit(r, took), atomicfile.Options{Mode: 0o644, Masked: true})
}

// junit returns the text of a report. It does not use encoding/xml, which would add a third of a
// megabyte for these few elements.
func junit(r *Report, took time.Duration) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=%s tests=\"%d\" failures=\"%d\" skipped=\"%d\" time=\"%.3f\">\n",
		attribute(r.Plugin+" ("+r.Dialect+")"), len(r.Checks), r.Count(Fail), r.Count(Skip), took.Seconds())
	for _, c := range r.Checks {
		fmt.Fprintf(&b, "  <testcase classname=%s name=%s>", attribute(r.Plugin), attribute(c.ID))
		switch c.Status {
		case Fail:
			fmt.Fprintf(&b, "<failure message=%s>%s</failure>", attribute(c.Message), escaped(c.Spec+"\nfix: "+c.Fix))
		case Warn:
			fmt.Fprintf(&b, "<system-out>%s</system-out>", escaped("warning: "+c.Message+"\n"+c.Spec+"\nfix: "+c.Fix))
		case Skip:
			fmt.Fprintf(&b, "<skipped message=%s></skipped>", attribute(c.Message))
		}
		b.WriteString("</testcase>\n")
	}
	b.WriteString("</testsuite>\n")
	return []byte(b.String())
}

func attribute(text string) string {
	return `"` + strings.ReplaceAll(escaped(text), "\n", "&#xA;") + `"`
}

// escaped returns a text for XML, without the characters that XML cannot express.
func escaped(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\n' && r != '\t' || r >= 0xfffe && r <= 0xffff {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;").Replace(text)
}
