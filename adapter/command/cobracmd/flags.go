package cobracmd

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// typedFlags returns the flags of a command line that Cobra has not parsed yet, as text. It ignores
// errors, because Cobra reports them later.
func typedFlags(target *cobra.Command, words []string) map[string]string {
	flags := make(map[string]string)
	if target.DisableFlagParsing {
		return flags
	}
	scratch := pflag.NewFlagSet("", pflag.ContinueOnError)
	scratch.ParseErrorsAllowlist.UnknownFlags = true
	scratch.SetOutput(io.Discard)
	scratch.Usage = func() {}
	add := func(f *pflag.Flag) {
		if scratch.Lookup(f.Name) == nil {
			_, list := f.Value.(pflag.SliceValue)
			scratch.AddFlag(&pflag.Flag{Name: f.Name, Shorthand: f.Shorthand, NoOptDefVal: f.NoOptDefVal, Value: &flagText{kind: f.Value.Type(), list: list}})
		}
	}
	target.InheritedFlags().VisitAll(add)
	target.Flags().VisitAll(add)
	_ = scratch.Parse(words) // Cobra parses them again, and reports errors
	scratch.Visit(func(f *pflag.Flag) { flags[f.Name] = f.Value.String() })
	return flags
}

// A flagText is the value of a flag as it was typed.
type flagText struct {
	kind  string
	list  bool
	words []string
}

func (v *flagText) Set(s string) error {
	if !v.list {
		v.words = nil
	}
	v.words = append(v.words, s)
	return nil
}

func (v *flagText) Type() string { return v.kind }

// String returns the value as the flag itself would show it.
func (v *flagText) String() string {
	text := strings.Join(v.words, ",")
	if v.list {
		return "[" + text + "]"
	}
	return text
}

// newFlags returns the flags that plugins have added or changed. The known flags are flags of the
// command. Only plugins understand the other flags.
func newFlags(target *cobra.Command, was, now map[string]string) (known, others map[string]string) {
	known, others = make(map[string]string), make(map[string]string)
	for name, value := range now {
		has := target.Flag(name) != nil && !target.DisableFlagParsing
		if old, typed := was[name]; has && !(typed && old == value) {
			known[name] = value
		} else if !has {
			others[name] = value
		}
	}
	return known, others
}

// asWords returns flags as words of a command line, so that Cobra finds the required ones.
func asWords(flags map[string]string) []string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		words = append(words, "--"+name+"="+flags[name])
	}
	return words
}

// changedFlags returns the flags that were set, as text.
func changedFlags(cmd *cobra.Command) map[string]string {
	flags := make(map[string]string)
	cmd.Flags().Visit(func(f *pflag.Flag) { flags[f.Name] = f.Value.String() })
	return flags
}

// setFlags sets the flags of the command as plugins left them.
func setFlags(cmd *cobra.Command, flags map[string]string) error {
	for name, value := range flags {
		f := cmd.Flags().Lookup(name)
		if f == nil {
			continue // plugins may add flags that only other plugins understand, such as tags
		}
		if f.Value.String() == value {
			continue
		}
		if err := setFlag(cmd.Flags(), f, value); err != nil {
			return fmt.Errorf("flag --%s, set by a plugin: %w", name, err)
		}
	}
	return nil
}

// setFlag sets one flag. A list is replaced, since Set would add to what was typed.
func setFlag(flags *pflag.FlagSet, f *pflag.Flag, value string) error {
	list, ok := f.Value.(pflag.SliceValue)
	if !ok {
		return flags.Set(f.Name, value)
	}
	items, err := csv.NewReader(strings.NewReader(strings.Trim(value, "[]"))).Read()
	if err != nil && !errors.Is(err, io.EOF) { // EOF: an empty list
		return err
	}
	f.Changed = true
	return list.Replace(items)
}
