package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/hub"
	"flotilla/hub/flotilla/cli/member"
	"flotilla/hub/flotilla/cli/nodes"
	"flotilla/hub/flotilla/cli/object"
	"flotilla/hub/flotilla/cli/placement"
	"flotilla/hub/flotilla/cli/plan"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/run"
	"flotilla/hub/flotilla/cli/session"
)

const rootLong = `flotilla places workloads on the members of a fleet, explains where they go and why,
follows them until they run, and upgrades the members in stages. Its grammar is kubectl's; where the hub serves a
Kubernetes API, "flotilla kubeconfig" has kubectl itself work on the fleet.

Without a hub, "flotilla plan", "flotilla plan nodes", "flotilla budgets" and "flotilla why" answer from the files of -f alone.`

func newRoot(a *resource.Client) *cobra.Command {
	root := &cobra.Command{
		Use:           "flotilla",
		Short:         "The command line of a Flotilla hub",
		Long:          rootLong,
		Args:          cobra.ArbitraryArgs,
		RunE:          session.GroupRun,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetFlagErrorFunc(session.FlagSuggestion)
	a.Connection.AddFlags(root.PersistentFlags())
	a.ColourFlag(root.PersistentFlags())
	root.Version = api.Version
	root.SetVersionTemplate("flotilla {{.Version}}\n")
	root.AddGroup(
		&cobra.Group{ID: session.GroupObjects, Title: "Objects:"},
		&cobra.Group{ID: session.GroupPlan, Title: "Plans and reasons:"},
		&cobra.Group{ID: session.GroupUpgrade, Title: "Upgrades:"},
		&cobra.Group{ID: session.GroupFleet, Title: "The fleet:"},
		&cobra.Group{ID: session.GroupOther, Title: "Other:"},
	)
	root.SetHelpCommandGroupID(session.GroupOther)
	root.SetCompletionCommandGroupID(session.GroupOther)
	for _, noun := range []func(*resource.Client) []*cobra.Command{
		object.All, placement.All, plan.All, nodes.All, run.All, member.All, hub.All,
	} {
		root.AddCommand(noun(a)...)
	}
	for _, c := range root.Commands() {
		if slices.Contains(resource.Targeted, c.Name()) {
			c.ValidArgsFunction = a.CompleteTarget
		}
		if c.Flags().Lookup("member") != nil {
			a.CompleteFlagNames(c, "member", api.KindMemberCluster)
		}
	}
	completeWords(a, root)
	return root
}

// completeWords completes flags that take one of a few words, and refuses shells that are not there.
func completeWords(a *resource.Client, root *cobra.Command) {
	for command, formats := range map[string][]string{
		"get": {"wide", "json", "yaml", "name", "jsonpath=", "go-template=", "custom-columns="}, "plan": {"json", "wide"}, "plan nodes": {"json"}, "budgets": {"json"}, "why": {"json", "wide"},
		"events": {"json"}, "trace": {"json"}, "history": {"json", "wide"}, "status": {"json"}, "apply": {"name", "json"}, "create": {"name", "json"}, "replace": {"name", "json"}, "delete": {"name"}, "version": {"json"},
	} {
		if c, _, err := root.Find(strings.Fields(command)); err == nil && c.Flags().Lookup("output") != nil {
			a.CompleteFlagWords(c, "output", formats...)
		}
	}
	if c, _, err := root.Find([]string{"wait"}); err == nil {
		a.CompleteFlagWords(c, "for", "condition=Available", "condition=Applied", "condition=Scheduled", "delete", "jsonpath=")
	}
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args, c.RunE = cobra.ArbitraryArgs, session.GroupRun
		}
	}
}
