package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// Groups of commands in the help text.
const (
	groupObjects = "objects"
	groupPlan    = "plan"
	groupFleet   = "fleet"
	groupOther   = "other"
)

const rootLong = `flotilla places workloads on the members of a fleet, explains where they go and why,
and follows them until they run. Its grammar is kubectl's; the hub is not a Kubernetes API server.

Without a hub, "flotilla plan -f FILE…" and "flotilla why" answer from files alone.`

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "flotilla",
		Short:         "The command line of a Flotilla hub",
		Long:          rootLong,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetFlagErrorFunc(flagSuggestion)
	a.connection.addFlags(root.PersistentFlags())
	root.AddGroup(
		&cobra.Group{ID: groupObjects, Title: "Objects:"},
		&cobra.Group{ID: groupPlan, Title: "Plans and reasons:"},
		&cobra.Group{ID: groupFleet, Title: "The fleet:"},
		&cobra.Group{ID: groupOther, Title: "Other:"},
	)
	root.SetHelpCommandGroupID(groupOther)
	root.SetCompletionCommandGroupID(groupOther)
	a.addCommands(root, groupObjects, a.applyCommand(), a.diffCommand(), a.getCommand(), a.describeCommand(),
		a.deleteCommand(), a.waitCommand(), a.editCommand(), a.scaleCommand(), a.labelCommand(), a.annotateCommand())
	a.addCommands(root, groupPlan, a.planCommand(), a.rolloutCommand(), a.eventsCommand())
	a.addCommands(root, groupFleet, a.statusCommand(), a.memberCommand(), a.taintCommand(), a.cordonCommand(), a.uncordonCommand())
	a.addCommands(root, groupOther, a.versionCommand())
	return root
}

func (a *app) addCommands(parent *cobra.Command, group string, commands ...*cobra.Command) {
	for _, c := range commands {
		c.GroupID = group
		parent.AddCommand(c)
	}
}

// group is a command that only holds others; a word that none of them knows is an error of usage.
func group(use, short string, children ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short}
	c.AddCommand(children...)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef("%s needs one of: %s", cmd.CommandPath(), strings.Join(childNames(cmd), ", "))
		}
		return usagef("unknown command %q for %q%s", args[0], cmd.CommandPath(), meant(nearest(args[0], childNames(cmd))))
	}
	return c
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
