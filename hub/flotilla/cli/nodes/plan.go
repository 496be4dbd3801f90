package nodes

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"flotilla/core/api"
	"flotilla/core/explain"
	"flotilla/core/simulate"
	"flotilla/hub/flotilla/cli/offline"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

// PlanNodesOptions are the flags of plan nodes.
type PlanNodesOptions struct {
	offline.Source
	offline.NodeRules
	Now    string
	passes int
	Format string
	// supposed are the documents of the files that the hub plans with.
	supposed []offline.Document
}

// PlanNodesCommand makes plan nodes, which lies below plan.
func (a Commands) PlanNodesCommand() *cobra.Command {
	o := &PlanNodesOptions{}
	cmd := &cobra.Command{
		Use:   "nodes [-m MEMBER] [-f FILE…] [NODE…]",
		Short: "Show which nodes would be removed or replaced now, where their pods would go, and why the others stay",
		Long: `Show which nodes of a member would be disrupted now: each command with its savings per hour, the replacement
and the destination of every pod, the budgets before and after, and the reason of every node that stays. Nodes that are
named are explained in full: every reason, and what would change it. Without a member, all members are planned: what goes on
each, and a line for each that counts why its other nodes stay; -m shows the rest.

It asks the hub, which decides in the same way when it acts; nothing is begun. NodePools, InstanceCatalogs and node classes of
files are planned in place of the hub's own of the same names, which shows what applying them would do to nodes; nothing is stored.

The hub explains at most 100 nodes that are named, plans with at most 500 documents, and gives a plan of one member up that takes it
longer than 5 s.

Files that hold Nodes are answered from alone, without a hub: they hold one member, that is its NodePools, an InstanceCatalog, and
Nodes, Pods, PodDisruptionBudgets, DaemonSets, Namespaces, volumes, NodeClaims and node classes as kubectl prints them.

Exit 0 when nothing would be disrupted, 1 when something would, 3 when the files are refused.`,
		Example: `  flotilla plan nodes -m berlin
  flotilla plan nodes -m berlin node-7
  flotilla plan nodes -m berlin -f pool.yaml,catalog.yaml
  flotilla plan nodes -f pool.yaml,catalog.yaml,nodes.yaml,pods.yaml
  kubectl get nodes,pods,pdb,daemonsets -A -o yaml | flotilla plan nodes -f pool.yaml -f catalog.yaml -f -
  flotilla plan nodes -f member/ node-7 --now 2026-03-01T12:00:00Z
  flotilla plan nodes -f member/ --spot-to-spot --passes 1`,
		RunE: a.Do(func(ctx context.Context, args []string) error { return a.planNodes(ctx, o, args) }),
	}
	o.Source.AddFlags(cmd.Flags())
	o.NodeRules.AddFlags(cmd.Flags())
	a.MemberFlag(cmd.Flags())
	cmd.Flags().StringVar(&o.Now, "now", "", "time to plan for, RFC 3339, with files that hold Nodes (default: now)")
	cmd.Flags().IntVar(&o.passes, "passes", 0, "how many passes of deciding to look ahead: 1 is what begins next, with the reasons of that moment (default: until nothing more would begin)")
	cmd.Flags().StringVarP(&o.Format, "output", "o", "", "json: the stable form of docs/json.md")
	cmd.ValidArgsFunction = a.CompleteNodes
	a.CompleteFlagNames(cmd, "member", api.KindMemberCluster)
	return cmd
}

func (a Commands) planNodes(ctx context.Context, o *PlanNodesOptions, args []string) error {
	named, err := nodeNames(args)
	if err != nil {
		return err
	}
	if o.passes < 0 {
		return session.Usagef("--passes: found %d, expected 1 or more", o.passes)
	}
	if o.Empty() {
		return a.planNodesLive(ctx, o, named)
	}
	documents, err := o.Read(a.Client)
	if err != nil {
		return err
	}
	switch here := HoldsNodes(documents); {
	case here && a.Member != "":
		return session.Usagef("-m asks the hub, and files that hold Nodes are answered from alone: one or the other")
	case here, a.Member == "" && !a.Connection.Configured(a.Getenv):
		return a.planNodeDocuments(o, documents, named)
	}
	if err := a.suppose(o, documents); err != nil {
		return err
	}
	return a.planNodesLive(ctx, o, named)
}

// nodeNames reads "NODE" and "node/NODE".
func nodeNames(args []string) ([]string, error) {
	names := make([]string, len(args))
	for i, arg := range args {
		if namesFile(arg) {
			return nil, session.Usagef("found %q, expected the name of a node; files are named with -f", arg)
		}
		name, err := resource.NameOfKind(arg, api.KindMemberNode, "a node")
		if err != nil {
			return nil, err
		}
		names[i] = name
	}
	return names, nil
}

// planNodeDocuments answers from what files hold.
func (a Commands) planNodeDocuments(o *PlanNodesOptions, documents []offline.Document, named []string) error {
	at, err := a.momentOf("--now", o.Now, o.Format)
	if err != nil {
		return err
	}
	f, err := offline.NodeFilesOf(&o.Source, documents)
	if err != nil {
		return err
	}
	if len(f.Nodes) == 0 {
		return session.Refusedf("the files hold no Node; kubectl get nodes,pods,pdb,daemonsets -A -o yaml prints what is wanted; a hub, when one is named (--url, NATS_URL, --context), plans the nodes that it knows")
	}
	f.NoteAbsent()
	s, err := f.State(at, o.Rules())
	if err != nil {
		return err
	}
	if err := knownNodes(s, named); err != nil {
		return err
	}
	p := explain.ForeseeMember(s, "", named, o.passes)
	p.Notes = append(f.Notes, p.Notes...)
	if err := a.printNodePlan(o, &p); err != nil {
		return err
	}
	if len(p.Commands) == 0 {
		return nil
	}
	return session.Different()
}

// momentOf reads what the commands about nodes share: the time and the format.
func (a Commands) momentOf(flag, moment, format string) (time.Time, error) {
	if err := a.Format(format, "json"); err != nil {
		return time.Time{}, err
	}
	at := a.Now()
	if moment != "" {
		var err error
		if at, err = time.Parse(time.RFC3339, moment); err != nil {
			return at, session.Usagef("%s: found %q, expected a time such as 2026-03-01T12:00:00Z", flag, moment)
		}
	}
	return at.UTC().Truncate(time.Second), nil
}

func knownNodes(s *simulate.State, named []string) error {
	for _, name := range named {
		if _, ok := s.Cluster.Node(name); !ok {
			return session.Refusedf("the files hold no node %q%s", name, session.Meant(session.Nearest(name, s.Cluster.Names())))
		}
	}
	return nil
}

func (a Commands) printNodePlan(o *PlanNodesOptions, p *explain.MemberForecast) error {
	a.Notes(p.Notes)
	if o.Format == "json" {
		return session.PrintJSON(a.Out, p)
	}
	a.Printf("at %s\n", p.At.Format(time.RFC3339))
	a.printForecast(p)
	return nil
}

func (a Commands) printForecast(p *explain.MemberForecast) {
	a.Printf("%s", p.String())
	for i := range p.Explanations {
		a.Printf("\n%s", p.Explanations[i].String())
	}
}

// going counts the nodes that a forecast disrupts, and the new ones.
func going(f *explain.Forecast) (gone, launched int) {
	for i := range f.Commands {
		gone += len(f.Commands[i].Nodes)
		launched += len(f.Commands[i].Replacements)
	}
	return gone, launched
}

// HoldsNodes says that documents are about the nodes of a member.
func HoldsNodes(documents []offline.Document) bool {
	return slices.ContainsFunc(documents, func(d offline.Document) bool { return d.Ref.APIVersion == "v1" && d.Ref.Kind == "Node" })
}

// PlanNodesAmong plans the nodes of the files that a plain plan was asked about.
func (a Commands) PlanNodesAmong(o *PlanNodesOptions, documents []offline.Document) error {
	command := o.Command("plan nodes")
	for i := range documents {
		d := &documents[i]
		if !isPlanned(d.Ref.Kind) {
			continue
		}
		f := session.Refusedf("the files hold Nodes and %s (%s): nodes are planned for one member, placements and runs for the fleet, by a flotilla plan with the files that hold no Node", d.Ref, d.Where())
		f.Next = command
		return f
	}
	if o.Format == "wide" {
		return session.Usagef("-o wide is not for plans of nodes, expected json")
	}
	return a.planNodeDocuments(o, documents, nil)
}

// isPlanned tells the kinds that a plan of the fleet is about.
func isPlanned(kind string) bool {
	switch kind {
	case api.KindClusterResourcePlacement, api.KindResourcePlacement, api.KindUpdateRun:
		return true
	}
	return false
}
