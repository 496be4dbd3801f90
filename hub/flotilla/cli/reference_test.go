package cli

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite generated documents and golden files")

const (
	referencePath = "../../../docs/cli.md"
	referenceMark = "<!-- From here on generated: go test ./hub/flotilla/cli -run TestReference -update -->\n"
)

// TestReference keeps the commands and flags of docs/cli.md those of the program.
func TestReference(t *testing.T) {
	text, err := os.ReadFile(referencePath)
	require.NoError(t, err)
	head, _, found := strings.Cut(string(text), referenceMark)
	require.True(t, found)
	root := newRoot(resource.New(session.New(session.Environment{Getenv: func(string) string { return "" }})))
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	var b strings.Builder
	writeCommand(&b, root)
	want := head + referenceMark + b.String()
	if *update {
		require.NoError(t, os.WriteFile(referencePath, []byte(want), 0o600))
		return
	}
	require.Equal(t, digest(want), digest(string(text)), "docs/cli.md is out of date: go test ./hub/flotilla/cli -run TestReference -update")
	for _, code := range []int{session.ExitDone, session.ExitDifferent, session.ExitUsage, session.ExitRefused, session.ExitPartial, session.ExitUnreachable, session.ExitTimedOut} {
		require.Contains(t, head, fmt.Sprintf("| %d |", code), "exit code %d is not documented", code)
	}
}

// digest keeps a failure short: the whole document differs in many lines at once.
func digest(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

func writeCommand(b *strings.Builder, cmd *cobra.Command) {
	if cmd.Name() == "help" {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n%s\n", cmd.CommandPath(), describeCommand(cmd))
	if cmd.Runnable() && (!cmd.HasSubCommands() || strings.Contains(cmd.Use, " ")) {
		fmt.Fprintf(b, "\n```\n%s\n```\n", strings.TrimSuffix(cmd.UseLine(), " [flags]"))
	}
	if cmd.Example != "" {
		fmt.Fprintf(b, "\nExamples:\n\n```\n%s\n```\n", strings.TrimRight(cmd.Example, "\n"))
	}
	flags := cmd.NonInheritedFlags()
	if flags.HasAvailableFlags() {
		b.WriteString("\n| flag | default | |\n|---|---|---|\n")
		flags.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && f.Name != "help" {
				fmt.Fprintf(b, "| %s | %s | %s |\n", flagName(f), flagDefault(f), strings.ReplaceAll(f.Usage, "|", `\|`))
			}
		})
	}
	for _, child := range cmd.Commands() {
		writeCommand(b, child)
	}
}

func describeCommand(cmd *cobra.Command) string {
	if cmd.Long != "" && cmd.Root().Name() == "flotilla" && !strings.HasPrefix(cmd.CommandPath(), "flotilla completion") {
		return strings.TrimSpace(cmd.Long)
	}
	return cmd.Short + "."
}

func flagName(f *pflag.Flag) string {
	if f.Shorthand == "" {
		return "`--" + f.Name + "`"
	}
	return "`-" + f.Shorthand + "`, `--" + f.Name + "`"
}

func flagDefault(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "[]":
		return ""
	}
	return "`" + f.DefValue + "`"
}
