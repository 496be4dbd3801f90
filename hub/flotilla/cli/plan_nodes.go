package cli

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"flotilla/core/disruption"
)

type planNodesOptions struct {
	source
	now    string
	format string
}

// nodePlan is what plan nodes -o json prints.
type nodePlan struct {
	At time.Time `json:"at"`
	disruption.Forecast
	// Explanations are those of the nodes that were named and stay.
	Explanations []disruption.Explanation `json:"explanations,omitempty"`
	Notes        []string                 `json:"notes,omitempty"`
}

func (a *app) planNodesCommand() *cobra.Command {
	o := &planNodesOptions{}
	cmd := &cobra.Command{
		Use:   "nodes -f FILE… [NODE…]",
		Short: "Show which nodes would be removed or replaced now, where their pods would go, and why the others stay",
		Long: `Show which nodes of a member would be disrupted now: each command with its savings per hour, the replacement
and the destination of every pod, the budgets before and after, and the reason of every node that stays. Nodes that are
named are explained in full: every reason, and what would change it.

It answers from files alone and carries nothing out; the hub is not asked in this version. The files hold one member: its
NodePools, an InstanceCatalog, and Nodes, Pods, PodDisruptionBudgets, DaemonSets, Namespaces, volumes and node classes as kubectl prints them.

Exit 0 when nothing would be disrupted, 1 when something would, 3 when the files are refused.`,
		Example: `  flotilla plan nodes -f pool.yaml,catalog.yaml,nodes.yaml,pods.yaml
  kubectl get nodes,pods,pdb,daemonsets -A -o yaml | flotilla plan nodes -f pool.yaml -f catalog.yaml -f -
  flotilla plan nodes -f member/ node-7 --now 2026-03-01T12:00:00Z`,
		RunE: a.run(func(_ context.Context, args []string) error { return a.planNodes(o, args) }),
	}
	o.addFlags(cmd.Flags())
	cmd.Flags().StringVar(&o.now, "now", "", "time to plan for, RFC 3339 (default: now)")
	cmd.Flags().StringVarP(&o.format, "output", "o", "", "json: the stable form of docs/json.md")
	return cmd
}

func (a *app) planNodes(o *planNodesOptions, named []string) error {
	f, at, err := a.openNodeFiles(&o.source, "--now", o.now, o.format)
	if err != nil {
		return err
	}
	if len(f.Nodes) == 0 {
		return refusedf("the files hold no Node; kubectl get nodes,pods,pdb,daemonsets -A -o yaml prints what is wanted")
	}
	f.noteAbsent()
	s, err := f.state(at)
	if err != nil {
		return err
	}
	if err := knownNodes(s, named); err != nil {
		return err
	}
	p := nodePlan{At: at, Forecast: disruption.Foresee(s), Notes: f.notes}
	p.Explanations = p.explain(s, named)
	if err := a.printNodePlan(o, &p); err != nil {
		return err
	}
	if len(p.Commands) == 0 {
		return nil
	}
	return different()
}

// openNodeFiles reads what the commands about nodes share: the time, the format and the files.
func (a *app) openNodeFiles(s *source, flag, moment, format string) (*nodeFiles, time.Time, error) {
	if format != "" && format != "json" {
		return nil, time.Time{}, usagef("unknown output format %q, expected json", format)
	}
	at := a.Now()
	if moment != "" {
		var err error
		if at, err = time.Parse(time.RFC3339, moment); err != nil {
			return nil, at, usagef("%s: found %q, expected a time such as 2026-03-01T12:00:00Z", flag, moment)
		}
	}
	a.machine = format == "json"
	f, err := a.readNodeFiles(s)
	return f, at.UTC().Truncate(time.Second), err
}

func knownNodes(s *disruption.State, named []string) error {
	for _, name := range named {
		if _, ok := s.Cluster.Node(name); !ok {
			return refusedf("the files hold no node %q%s", name, meant(nearest(name, s.Cluster.Names())))
		}
	}
	return nil
}

// explain explains the named nodes that stay, as things are once the nodes of the plan go. A launch
// ends the plan, so what it replaces is not taken to go.
func (p *nodePlan) explain(s *disruption.State, named []string) []disruption.Explanation {
	ahead := *s
	ahead.Busy = map[string]bool{}
	var going []string
	for i := range p.Commands {
		c := &p.Commands[i]
		going = append(going, c.Nodes...)
		for _, n := range c.Nodes {
			if len(c.Replacements) == 0 {
				ahead.Busy[n] = true
			}
		}
	}
	var out []disruption.Explanation
	for _, name := range named {
		if slices.Contains(going, name) {
			continue
		}
		if e, ok := disruption.Explain(&ahead, name); ok {
			out = append(out, e)
		}
	}
	return out
}

func (a *app) printNodePlan(o *planNodesOptions, p *nodePlan) error {
	for _, text := range p.Notes {
		a.note("%s", text)
	}
	if o.format == "json" {
		return printJSON(a.Out, p)
	}
	a.printf("at %s\n%s", p.At.Format(time.RFC3339), p.String())
	for i := range p.Explanations {
		a.printf("\n%s", p.Explanations[i].String())
	}
	return nil
}
