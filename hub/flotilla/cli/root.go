package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"flotilla/core/api"
)

const rootLong = `flotilla places workloads on the members of a fleet, explains where they go and why,
follows them until they run, and upgrades the members in stages. Its grammar is kubectl's; the hub is not a Kubernetes API server.

Without a hub, "flotilla plan", "flotilla plan nodes", "flotilla budgets" and "flotilla why" answer from the files of -f alone.`

func newRoot(a *Client) *cobra.Command {
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
	for _, noun := range []func(*Client) []*cobra.Command{
		objectAll, placementAll, planAll, nodesAll, runAll, memberAll, hubAll,
	} {
		root.AddCommand(noun(a)...)
	}
	for _, c := range root.Commands() {
		if slices.Contains(targeted, c.Name()) {
			c.ValidArgsFunction = a.completeTarget
		}
		if c.Flags().Lookup("member") != nil {
			a.completeFlagNames(c, "member", api.KindMemberCluster)
		}
	}
	completeWords(a, root)
	return root
}

// completeWords completes flags that take one of a few words, and refuses shells that are not there.
func completeWords(a *Client, root *cobra.Command) {
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

// Main runs one command line and returns its exit code.
func Main(ctx context.Context, args []string, env Environment) int {
	s := New(env)
	return s.Execute(ctx, newRoot(NewClient(s)), args)
}
