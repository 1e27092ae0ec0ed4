package webtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/cdproto/emulation"
)

// checkAxe runs axe-core on the page, in both themes and as wide as a phone: there may be no
// serious or critical violation. On a phone nothing may be wider than the screen. The browser's
// debugging protocol inserts the script, because the Content-Security-Policy forbids other scripts.
func (p *tab) checkAxe() {
	p.t.Helper()
	p.fits()
	source, err := os.ReadFile(filepath.Join(repo, "web", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		p.t.Logf("axe-core is not installed (npm ci in web/): accessibility is not checked: %v", err)
		return
	}
	p.eval(string(source)+"; true", nil)
	for _, scheme := range []string{"light", "dark"} {
		p.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
		p.noViolation(scheme)
	}
	p.run(emulation.SetEmulatedMedia().WithFeatures(nil))
	p.narrow()
	p.noViolation("phone")
	p.wide()
}

// noViolation runs axe-core on the page in its current state.
func (p *tab) noViolation(how string) {
	p.t.Helper()
	for _, violation := range p.violations() {
		if violation.Impact == "serious" || violation.Impact == "critical" {
			p.t.Errorf("axe (%s): %s", how, violation)
		}
	}
}

type violation struct {
	ID, Impact, Help string
	Nodes            []struct {
		HTML           string
		FailureSummary string
	}
}

func (v violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", v.ID, v.Help)
	for _, node := range v.Nodes {
		fmt.Fprintf(&b, "\n  %s\n    %s", node.HTML, strings.ReplaceAll(node.FailureSummary, "\n", "\n    "))
	}
	return b.String()
}

func (p *tab) violations() (found []violation) {
	p.t.Helper()
	p.eval(`new Promise((done) => requestAnimationFrame(() => setTimeout(done, 200))).then(() => axe.run()).then((r) => r.violations)`, &found)
	return found
}
