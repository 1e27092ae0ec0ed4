package attach

import (
	"fmt"
	"strings"
)

// The beginnings of the line above a frame.
const (
	fileWord    = "[file "
	commandWord = "[command "
)

// File returns a file in its frame.
func File(path, text string) string {
	return frame(fmt.Sprintf("%s%s, %s]", fileWord, oneLine(path), lines(text)), text)
}

// Command returns the output of a command that the user ran, in its frame.
func Command(line, output string) string {
	return frame(commandWord+oneLine(line)+"]", output)
}

// frame puts a text between two fences of backquotes that are longer than any in the text, so that
// the text cannot end its frame.
func frame(head, text string) string {
	longest, run := 2, 0
	for _, r := range text {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return head + "\n" + fence + "\n" + text + fence
}

func oneLine(s string) string { return strings.ReplaceAll(s, "\n", " ⏎ ") }

func lines(text string) string {
	n := strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1
	switch {
	case text == "":
		return "empty"
	case n == 1:
		return "1 line"
	}
	return fmt.Sprintf("%d lines", n)
}

// Fold shortens each frame in a message to the line above it, for a screen that shows earlier
// messages.
func Fold(text string) string {
	if !strings.Contains(text, fileWord) && !strings.Contains(text, commandWord) {
		return text
	}
	var out []string
	all := strings.Split(text, "\n")
	for i := 0; i < len(all); i++ {
		out = append(out, all[i])
		if end := frameEnd(all, i); end > 0 {
			i = end
		}
	}
	return strings.Join(out, "\n")
}

// frameEnd returns the index of the line that ends the frame below the head at i, or 0 if there is
// no frame.
func frameEnd(all []string, i int) int {
	head := all[i]
	if !strings.HasPrefix(head, fileWord) && !strings.HasPrefix(head, commandWord) || !strings.HasSuffix(head, "]") || i+1 >= len(all) {
		return 0
	}
	fence := all[i+1]
	if len(fence) < 3 || strings.Trim(fence, "`") != "" {
		return 0
	}
	for j := i + 2; j < len(all); j++ {
		if all[j] == fence {
			return j
		}
	}
	return 0
}
