package conformance

import (
	"encoding/xml"
	"fmt"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/atomicfile"
)

// The elements of a JUnit report, as CI systems read them.
type (
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string       `xml:"classname,attr"`
		Name    string       `xml:"name,attr"`
		Failure *junitText   `xml:"failure,omitempty"`
		Skipped *junitReason `xml:"skipped,omitempty"`
		Output  string       `xml:"system-out,omitempty"`
	}
	junitText struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	junitReason struct {
		Message string `xml:"message,attr"`
	}
)

// WriteJUnit writes a report to a file as JUnit's XML, whole or not at all. A warning is a test that passed, with the warning as its output.
func WriteJUnit(path string, r *Report, took time.Duration) error {
	text, err := junit(r, took)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, text, atomicfile.Options{Mode: 0o644, Masked: true})
}

// junit is the text of a report.
func junit(r *Report, took time.Duration) ([]byte, error) {
	suite := junitSuite{Name: r.Plugin + " (" + r.Dialect + ")", Tests: len(r.Checks), Failures: r.Count(Fail), Skipped: r.Count(Skip),
		Time: fmt.Sprintf("%.3f", took.Seconds())}
	for _, c := range r.Checks {
		test := junitCase{Class: r.Plugin, Name: c.ID}
		switch c.Status {
		case Fail:
			test.Failure = &junitText{printable(c.Message), printable(c.Spec + "\nfix: " + c.Fix)}
		case Warn:
			test.Output = printable("warning: " + c.Message + "\n" + c.Spec + "\nfix: " + c.Fix)
		case Skip:
			test.Skipped = &junitReason{printable(c.Message)}
		}
		suite.Cases = append(suite.Cases, test)
	}
	body, err := xml.MarshalIndent(suite, "", "  ")
	return append([]byte(xml.Header), append(body, '\n')...), err
}

// printable leaves out what XML has no way to write.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
}
