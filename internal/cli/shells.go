package cli

import (
	_ "embed"
	"io"

	"github.com/spf13/cobra"
)

// bashWords defines a function that cobra's script for bash needs. The function belongs to the
// bash-completion package. bashWords defines it only where that package is not loaded.
//
//go:embed shells_bash.sh
var bashWords string

// A shell is a shell for which cobra writes a completion script.
type shell struct {
	examples string // how to load the script: into this shell, and into every new one
	note     string // what else the shell needs
}

var shells = map[string]shell{
	"bash": {examples: `  source <(patchbay completion bash)
  echo 'source <(patchbay completion bash)' >> ~/.bashrc`},
	"zsh": {examples: `  source <(patchbay completion zsh)
  echo 'source <(patchbay completion zsh)' >> ~/.zshrc`,
		note: "\n\nIf zsh completes nothing at all, add this line to ~/.zshrc, above the one of\nPatchbay:\n\n  autoload -U compinit; compinit"},
	"fish": {examples: `  patchbay completion fish | source
  patchbay completion fish > ~/.config/fish/completions/patchbay.fish`},
	"powershell": {examples: `  patchbay completion powershell | Out-String | Invoke-Expression
  patchbay completion powershell >> $PROFILE`},
}

// explainShells describes cobra's commands for shells, and makes the script for bash work without
// the bash-completion package.
func explainShells(completion *cobra.Command) {
	completion.Short = "Print the script that completes commands in your shell"
	completion.Long = `Print a script for your shell. With it, the tab key completes commands, flags,
and the names of plugins, tools, agents and sessions. The help of each command
below says how to load the script.`
	for _, c := range completion.Commands() {
		c.Short = "Print the completion script for " + c.Name()
		c.Long = c.Short + `. The first example loads it into this
shell, the second into every new one.` + shells[c.Name()].note
		c.Example = shells[c.Name()].examples
		if f := c.Flags().Lookup("no-descriptions"); f != nil {
			f.Usage = "complete names without their descriptions"
		}
		if c.Name() == "bash" {
			c.RunE = withBashWords(c.RunE)
		}
	}
}

// withBashWords prints bashWords before a script for bash.
func withBashWords(script func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if _, err := io.WriteString(cmd.OutOrStdout(), bashWords); err != nil {
			return err
		}
		return script(cmd, args)
	}
}
