package session

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// GroupRun shows what there is; a word that no command knows is an error of usage.
func GroupRun(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	return unknownCommand(cmd, args[0])
}

// Group is a command that only holds others.
func Group(use, short string, children ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, RunE: GroupRun}
	c.AddCommand(children...)
	return c
}

// replaced are verbs of kubectl that are spelt otherwise here.
var replaced = map[string]string{
	"patch": "edit TYPE/NAME",
}

func unknownCommand(cmd *cobra.Command, word string) *Failure {
	if instead := replaced[word]; instead != "" && !cmd.HasParent() {
		f := Usagef("kubectl %s is flotilla %s", word, instead)
		f.Next = "flotilla " + strings.Fields(instead)[0] + " --help"
		return f
	}
	f := Usagef("unknown command %q for %q%s", word, cmd.CommandPath(), Meant(Nearest(word, childNames(cmd))))
	f.Next = cmd.CommandPath() + " --help"
	return f
}

func childNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// NoArgs refuses arguments of a command that has flags alone.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	if cmd.Flags().Lookup("filename") != nil {
		hint = "; files are named with -f"
	}
	return Usagef("found %q, expected no argument%s", args[0], hint)
}

// OneWord wants exactly one argument.
func OneWord(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return Usagef("found %d arguments, expected %s", len(args), what)
		}
		return nil
	}
}

// FlagSuggestion improves pflag's message about a flag that does not exist. After a mistyped command
// it is the command that is wrong.
func FlagSuggestion(cmd *cobra.Command, err error) error {
	if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 {
		return unknownCommand(cmd, words[0])
	}
	message := err.Error()
	if name, found := strings.CutPrefix(message, "unknown flag: --"); found {
		var all []string
		collect := func(f *pflag.Flag) { all = append(all, f.Name) }
		cmd.Flags().VisitAll(collect)
		cmd.InheritedFlags().VisitAll(collect)
		near := Nearest(name, all)
		for i := range near {
			near[i] = "--" + near[i]
		}
		message += Meant(near)
	}
	return &Failure{Code: ExitUsage, Message: message, Next: cmd.CommandPath() + " --help"}
}

// Groups of commands in the help text.
const (
	GroupObjects = "objects"
	GroupPlan    = "plan"
	GroupUpgrade = "upgrade"
	GroupFleet   = "fleet"
	GroupOther   = "other"
)

// InGroup puts commands below a title of the help text.
func InGroup(title string, commands ...*cobra.Command) []*cobra.Command {
	for _, c := range commands {
		c.GroupID = title
	}
	return commands
}
