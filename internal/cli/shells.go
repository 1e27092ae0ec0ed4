package cli

import (
	_ "embed"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// bashWords defines the function of the bash-completion package that cobra's script for bash needs,
// where that package is not loaded.
//
//go:embed shells_bash.sh
var bashWords string

// explainShells gives examples to cobra's commands for shells, and makes the script for bash work
// without the bash-completion package.
func explainShells(completion *cobra.Command) {
	for _, c := range completion.Commands() {
		c.Example = map[string]string{
			"bash":       "  source <(patchbay completion bash)",
			"zsh":        "  source <(patchbay completion zsh)",
			"fish":       "  patchbay completion fish | source",
			"powershell": "  patchbay completion powershell | Out-String | Invoke-Expression",
		}[c.Name()]
		if c.Name() == "bash" {
			script := c.RunE
			c.RunE = func(cmd *cobra.Command, args []string) error {
				if _, err := io.WriteString(cmd.OutOrStdout(), bashWords); err != nil {
					return err
				}
				return script(cmd, args)
			}
			before, rest, _ := strings.Cut(c.Long, "This script depends on")
			_, after, _ := strings.Cut(rest, "\n\n")
			c.Long = before + after
		}
	}
}
