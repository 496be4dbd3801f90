package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"flotilla/core/api"
	"flotilla/core/validate"
)

// Groups of commands in the help text.
const (
	groupObjects = "objects"
	groupPlan    = "plan"
	groupUpgrade = "upgrade"
	groupFleet   = "fleet"
	groupOther   = "other"
)

const rootLong = `flotilla places workloads on the members of a fleet, explains where they go and why,
follows them until they run, and upgrades the members in stages. Its grammar is kubectl's; the hub is not a Kubernetes API server.

Without a hub, "flotilla plan", "flotilla plan nodes", "flotilla budgets" and "flotilla why" answer from the files of -f alone.`

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "flotilla",
		Short:         "The command line of a Flotilla hub",
		Long:          rootLong,
		Args:          cobra.ArbitraryArgs,
		RunE:          groupRun,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetFlagErrorFunc(flagSuggestion)
	a.connection.addFlags(root.PersistentFlags())
	a.colourFlag(root.PersistentFlags())
	root.Version = api.Version
	root.SetVersionTemplate("flotilla {{.Version}}\n")
	root.AddGroup(
		&cobra.Group{ID: groupObjects, Title: "Objects:"},
		&cobra.Group{ID: groupPlan, Title: "Plans and reasons:"},
		&cobra.Group{ID: groupUpgrade, Title: "Upgrades:"},
		&cobra.Group{ID: groupFleet, Title: "The fleet:"},
		&cobra.Group{ID: groupOther, Title: "Other:"},
	)
	root.SetHelpCommandGroupID(groupOther)
	root.SetCompletionCommandGroupID(groupOther)
	a.addCommands(root, groupObjects, a.applyCommand(), a.diffCommand(), a.getCommand(), a.describeCommand(),
		a.deleteCommand(), a.waitCommand(), a.editCommand(), a.scaleCommand(), a.labelCommand(), a.annotateCommand())
	a.addCommands(root, groupPlan, a.planCommand(), a.budgetsCommand(), a.whyCommand(), a.rolloutCommand(), a.eventsCommand())
	a.addCommands(root, groupUpgrade, a.runCommand(), a.windowsCommand())
	a.addCommands(root, groupFleet, a.statusCommand(), a.memberCommand(), a.userCommand(), a.taintCommand(), a.cordonCommand(), a.uncordonCommand(), a.backupCommand(), a.restoreCommand(), a.secretsCommand())
	a.addCommands(root, groupOther, a.correctCommand(), a.explainCommand(), a.schemaCommand(), a.whoamiCommand(), a.authCommand(), a.versionCommand())
	for _, c := range root.Commands() {
		if slices.Contains(targeted, c.Name()) {
			c.ValidArgsFunction = a.completeTarget
		}
		if c.Flags().Lookup("member") != nil {
			a.completeFlagNames(c, "member", api.KindMemberCluster)
		}
	}
	a.completeWords(root)
	return root
}

// completeWords completes flags that take one of a few words, and refuses shells that are not there.
func (a *app) completeWords(root *cobra.Command) {
	for command, formats := range map[string][]string{
		"get": {"wide", "json", "yaml", "name", "jsonpath=", "go-template=", "custom-columns="}, "plan": {"json", "wide"}, "plan nodes": {"json"}, "budgets": {"json"}, "why": {"json", "wide"},
		"events": {"json"}, "status": {"json"}, "apply": {"name", "json"}, "delete": {"name"}, "version": {"json"},
	} {
		if c, _, err := root.Find(strings.Fields(command)); err == nil && c.Flags().Lookup("output") != nil {
			a.completeFlagWords(c, "output", formats...)
		}
	}
	if c, _, err := root.Find([]string{"wait"}); err == nil {
		a.completeFlagWords(c, "for", "condition=Available", "condition=Applied", "condition=Scheduled", "delete", "jsonpath=")
	}
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args, c.RunE = cobra.ArbitraryArgs, groupRun
		}
	}
}

func (a *app) addCommands(parent *cobra.Command, group string, commands ...*cobra.Command) {
	for _, c := range commands {
		c.GroupID = group
		parent.AddCommand(c)
	}
}

// group is a command that only holds others.
func group(use, short string, children ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, RunE: groupRun}
	c.AddCommand(children...)
	return c
}

// groupRun shows what there is; a word that no command knows is an error of usage.
func groupRun(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	return unknownCommand(cmd, args[0])
}

// replaced are verbs of kubectl that are spelt otherwise here.
var replaced = map[string]string{
	"create":  "apply -f FILE",
	"drain":   "delete node NAME -m MEMBER",
	"patch":   "edit TYPE/NAME",
	"replace": "apply -f FILE",
}

func unknownCommand(cmd *cobra.Command, word string) *Failure {
	if instead := replaced[word]; instead != "" && !cmd.HasParent() {
		f := usagef("kubectl %s is flotilla %s", word, instead)
		f.Next = "flotilla " + strings.Fields(instead)[0] + " --help"
		return f
	}
	f := usagef("unknown command %q for %q%s", word, cmd.CommandPath(), meant(nearest(word, childNames(cmd))))
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

// noArgs refuses arguments of a command that has flags alone.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	if cmd.Flags().Lookup("filename") != nil {
		hint = "; files are named with -f"
	}
	return usagef("found %q, expected no argument%s", args[0], hint)
}

// oneName wants exactly the name of a member.
func oneName(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("found %d arguments, expected the name of one member", len(args))
	}
	if faults := validate.MemberName("name", args[0]); len(faults) > 0 {
		return usagef("found member name %q, expected %s", args[0], faults[0].Expected)
	}
	return nil
}
