package config

import (
	"cmp"
	"strings"
)

const sampleHead = `# Patchbay's configuration. Every setting below is commented out and shows its
# default, or an example if it has none: this file changes nothing until you
# remove a # at the beginning of a line. Remove the one before the [section]
# above it too.
#
#   patchbay config show    what is in force, and from which file and line
#   patchbay config edit    edit this file; it is checked before it is written
#
# docs/configuration.md explains all of it. Keys and passwords belong in
# secrets.toml beside this file.
`

// sampleWidth is the width of an ordinary terminal, where editors break longer lines inside words.
const sampleWidth = 80

// Sample returns a config.toml with every section and key, each with its description, all commented
// out.
func Sample() string {
	var b strings.Builder
	b.WriteString(sampleHead)
	for _, s := range Sections() {
		b.WriteString("\n")
		if s.Name != "" {
			b.WriteString(comment(s.Doc) + "#" + s.header() + "\n")
		}
		for _, k := range s.Keys {
			b.WriteString(k.sample())
		}
	}
	return b.String()
}

func (s Section) header() string {
	if s.List {
		return "[[" + s.Name + "]]"
	}
	return "[" + s.Name + "]"
}

// sample returns the key with its description before it. Prose begins with "# ", a setting with "#"
// alone.
func (k Key) sample() string {
	text := comment(k.Doc)
	switch {
	case k.Otherwise == "required":
		text = comment(k.Doc + " Required.")
	case k.Otherwise != "":
		text += comment("Default: " + k.Otherwise + ".")
	}
	return text + "#" + k.Name + " = " + cmp.Or(k.Default, k.Example) + "\n"
}

// comment returns text as lines that begin with "# " and fit into sampleWidth.
func comment(text string) string {
	var b strings.Builder
	line := "#"
	for word := range strings.FieldsSeq(text) {
		if line != "#" && len(line)+1+len(word) > sampleWidth {
			b.WriteString(line + "\n")
			line = "#"
		}
		line += " " + word
	}
	return b.String() + line + "\n"
}
