package codehook

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
)

// TestThePagesTables: the tables of docs/hosts/README.md equal those of the code, cell by cell.
func TestThePagesTables(t *testing.T) {
	data, err := os.ReadFile("../../docs/hosts/README.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	for name, table := range map[string]string{"events": eventTable(), "silence": silenceTable(), "ways": wayTable(), "words": wordTable()} {
		if !strings.Contains(page, "\n"+table+"\n") {
			t.Errorf("the page does not have this table of %s:\n%s", name, table)
		}
	}
}

func row(cells ...string) string { return "| " + strings.Join(cells, " | ") + " |" }

func head(first string) []string {
	names, lines := []string{first}, []string{"---"}
	for _, a := range Agents() {
		names, lines = append(names, a.Title()), append(lines, "---")
	}
	return []string{row(names...), "|" + strings.Join(lines, "|") + "|"}
}

// eventTable lists which event of which agent is fired at which point.
func eventTable() string {
	rows := head("point")
	for _, spec := range hook.Points() {
		cells := []string{"`" + string(spec.Point) + "`"}
		for _, a := range Agents() {
			var names []string
			for _, e := range events[a] {
				if e.wanted && slices.Contains(e.points, spec.Point) {
					names = append(names, "`"+e.name+"`")
				}
			}
			cells = append(cells, orDash(strings.Join(names, ", ")))
		}
		if slices.ContainsFunc(cells[1:], func(c string) bool { return c != "–" }) {
			rows = append(rows, row(cells...))
		}
	}
	return strings.Join(rows, "\n")
}

// silenceTable lists the events that are not registered, or that have a remark.
func silenceTable() string {
	rows := []string{"| agent | event | |", "|---|---|---|"}
	for _, a := range Agents() {
		var reasons []string
		byReason := map[string][]string{}
		for _, e := range events[a] {
			if e.remark != "" {
				if byReason[e.remark] == nil {
					reasons = append(reasons, e.remark)
				}
				byReason[e.remark] = append(byReason[e.remark], "`"+e.name+"`")
			}
		}
		for _, r := range reasons {
			rows = append(rows, row(a.Title(), strings.Join(byReason[r], ", "), r))
		}
	}
	return strings.Join(rows, "\n")
}

// wayTable lists what each agent does with each wish of a plugin.
func wayTable() string {
	rows := head("what a plugin asks for")
	for _, a := range asks {
		cells := []string{string(a)}
		for _, w := range ways[a] {
			cells = append(cells, string(w))
		}
		rows = append(rows, row(cells...))
	}
	return strings.Join(rows, "\n")
}

// wordTable lists the tools of agents that have a built-in counterpart.
func wordTable() string {
	rows := []string{"| agent | its tool | ours | arguments |", "|---|---|---|---|"}
	for _, a := range Agents() {
		for _, w := range vocabulary[a] {
			var args []string
			for _, arg := range w.args {
				args = append(args, spell(arg))
			}
			rows = append(rows, row(a.Title(), "`"+w.host+"`", "`"+w.tool+"`", strings.Join(args, ", ")))
		}
	}
	return strings.Join(rows, "\n")
}

func spell(a argument) string {
	text := "`" + strings.Join(a.hosts, "` or `") + "`"
	if len(a.hosts) > 1 || a.hosts[0] != a.ours {
		text += " → `" + a.ours + "`"
	}
	return text + map[string]string{millis: " (milliseconds → seconds)", zero: " (from 0 → from 1)"}[a.unit]
}

func orDash(text string) string { return or(text, "–") }

// TestTablesAreWhole: every agent has a cell in each row, and every event has its own name.
func TestTablesAreWhole(t *testing.T) {
	for _, a := range Agents() {
		for _, asked := range asks {
			if a.way(asked) == "" {
				t.Errorf("%s × %s is empty", a, asked)
			}
		}
		seen := map[string]bool{}
		for _, e := range events[a] {
			if seen[e.name] {
				t.Errorf("%s has two events %s", a, e.name)
			}
			seen[e.name] = true
			if e.kind == silent && (e.wanted || e.remark == "" || len(e.points) > 0) {
				t.Errorf("%s %s: a silent event needs a remark, and must have no points", a, e.name)
			}
		}
		if len(vocabulary[a]) == 0 {
			t.Errorf("%s has no words", a)
		}
	}
	if len(asks) != len(ways) {
		t.Errorf("%d asks, %d ways", len(asks), len(ways))
	}
}

// TestWordsAreOurs: words are mapped only to built-in tools and their arguments.
func TestWordsAreOurs(t *testing.T) {
	builtins := map[string][]string{"shell": {"cmd", "timeout"}, "read_file": {"path", "offset", "limit"}, "write_file": {"path", "content"},
		"edit_file": {"path", "old", "new", "all"}, "list_files": {"path", "depth", "pattern"}, "fetch": {"url", "raw"}}
	for agent, words := range vocabulary {
		for _, w := range words {
			for _, a := range w.args {
				if !slices.Contains(builtins[w.tool], a.ours) {
					t.Errorf("%s %s: %s has no argument %s", agent, w.host, w.tool, a.ours)
				}
				if fmt.Sprint(a.hosts) == "[]" || a.unit != "" && a.unit != millis && a.unit != zero {
					t.Errorf("%s %s: %+v", agent, w.host, a)
				}
			}
		}
	}
}
