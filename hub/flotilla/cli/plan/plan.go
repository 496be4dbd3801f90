package plan

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/plan"
	"flotilla/hub/flotilla/cli/nodes"
	"flotilla/hub/flotilla/cli/offline"
	"flotilla/hub/flotilla/cli/session"
)

type planOptions struct {
	whatIfOptions
	renderOptions
	offline.Source
	offline.Moment
	offline.Assumptions
	offline.NodeRules
	format string
}

func (a commands) planCommand() *cobra.Command {
	o := &planOptions{}
	cmd := &cobra.Command{
		Use:   "plan -f FILE… | -k DIR | --without MEMBER… | --add FILE… | --render [placement/NAME] -m MEMBER",
		Short: "Show what applying files would change on which member, and why; changes nothing",
		Long: `Show what applying files would change: + members that a placement would gain, = keep, - lose, each
with its reason, and whose content would change; and what the rollout would do with each member then: whether it changes at once or waits, and
for what, is away and since when, or is tainted and stays because it was picked before. Of an update run, show for every member its order,
window and times, from which version to which, or why it would be skipped, wait or fail; then the timeline
of the whole run with its expected end, simulated by the same steps that the hub takes.

It asks the hub, or, with --offline and whenever no hub is configured, answers from the files alone.
Offline, the files hold the fleet: MemberClusters with their status, as exported from Flotilla or from
a KubeFleet hub, placements, and, if wanted, what is bound now (exported ClusterResourceBindings with the
ClusterSchedulingPolicySnapshots that they were made under, Schedule records, or placements with status and
uid). Bindings whose policy is not in the files are judged anew, and a note says which is missing. What members hold and how they do with it
is read from the status of exported placements; what no file tells of a rollout is said to be unknown. What apply notes of documents is noted of files too. For update runs
the inventories in the status of the members count, and the UpdateStrategies, the VersionCatalog and the
MemberMaintenances among the files. Files that hold Nodes are answered as plan nodes does; what applying NodePools does to the
nodes that the hub knows is shown by plan nodes.

With --without, --without-label or --add it answers what if: which placements of the whole fleet would gain and lose which members, what
would not be filled and what would fill it, which spread would break, and what runs would skip. Members are taken to leave as when they are deleted, after
those of --add joined, healthy and with what their status says; placements of --add come last. Offline, the files of -f are the fleet.

With --render it prints what --member is given of a placement, or of what files are about once they are applied: envelopes opened, overrides
followed, variables filled in, with the override and the path of each change and how the object differs from what was selected. Values of
Secrets are digests. It exits 3 when an override cannot be followed there.

Exit 0 when nothing would change, 1 when something would, 3 when the files are refused.`,
		Example: `  flotilla plan -f web.yaml
  flotilla plan -f fleet.yaml -f web.yaml --offline -o json
  flotilla plan -f run.yaml --assume 20m --assume-approval 1h
  flotilla plan --without member/berlin,member/oslo
  flotilla plan --without-label region=eu --add spare.yaml
  flotilla plan --render placement/web --member berlin
  flotilla plan --render -f override.yaml --member berlin --diff
  kubectl get memberclusters,clusterresourceplacements,clusterresourcebindings,clusterschedulingpolicysnapshots -o yaml | flotilla plan -f - --offline`,
	}
	cmd.Args = o.args
	cmd.RunE = a.Do(func(ctx context.Context, args []string) error {
		if err := o.Settle(cmd.Flags()); err != nil {
			return err
		}
		switch {
		case o.render:
			return a.renderPlan(ctx, o, args)
		case o.diff || o.member != "":
			return session.Usagef("--member and --diff come with --render")
		case o.asked():
			return a.whatIf(ctx, o)
		}
		return a.plan(ctx, o)
	})
	o.Source.AddFlags(cmd.Flags())
	o.Moment.AddFlags(cmd.Flags())
	o.Assumptions.AddFlags(cmd.Flags())
	o.NodeRules.AddFlags(cmd.Flags())
	o.whatIfOptions.AddFlags(cmd.Flags())
	o.renderOptions.AddFlags(cmd.Flags())
	a.NamespaceFlag(cmd.Flags())
	cmd.Flags().StringVarP(&o.format, "output", "o", "", "json: the stable form of docs/json.md; wide: every verdict, or all that moves")
	cmd.AddCommand(nodes.Commands{Client: a.Client}.PlanNodesCommand())
	return cmd
}

// args takes a placement with --render.
func (o *planOptions) args(cmd *cobra.Command, args []string) error {
	if o.render && len(args) <= 2 {
		return nil
	}
	return session.NoArgs(cmd, args)
}

func (a commands) plan(ctx context.Context, o *planOptions) error {
	if err := a.Format(o.format, "json", "wide"); err != nil {
		return err
	}
	at, err := o.Time()
	if err != nil {
		return err
	}
	documents, err := o.Read(a.Client)
	if err != nil {
		return err
	}
	if nodes.HoldsNodes(documents) {
		return nodes.Commands{Client: a.Client}.PlanNodesAmong(&nodes.PlanNodesOptions{Source: o.Source, NodeRules: o.NodeRules, Now: o.Now, Format: o.format}, documents)
	}
	if err := o.Unused(); err != nil {
		return err
	}
	offline := o.Offline || !a.Connection.Configured(a.Getenv)
	var answer plan.Answer
	if offline {
		answer, err = a.planOffline(o, documents, at)
	} else {
		answer, err = a.planLive(ctx, o, documents, at)
	}
	if err != nil {
		return err
	}
	answer.Notes = append(answer.Notes, o.remarks(&answer, offline)...)
	if err := a.printPlan(o, &answer); err != nil {
		return err
	}
	a.noteNodes(o, &answer)
	if err := refusedRuns(&answer, offline); err != nil {
		return err
	}
	if !answer.Changed() {
		return nil
	}
	if !offline {
		o.Next(a.Client, "apply")
	}
	return session.Different()
}

// remarks say what the answer rests on that the user did not ask for.
func (o *planOptions) remarks(answer *plan.Answer, offline bool) []string {
	var notes []string
	if offline && !o.Offline {
		notes = append(notes, "no hub is configured (--url, NATS_URL, --context): planned from the files alone")
	}
	if !o.Approved && waitsForApproval(answer) {
		notes = append(notes, "nobody is taken to open gates: --assume-approval 0s plans on behind them")
	}
	return notes
}

// waitsForApproval says that the plan of a run ends at a gate.
func waitsForApproval(answer *plan.Answer) bool {
	return slices.ContainsFunc(answer.RunDetails, func(d plan.RunDetail) bool {
		return slices.ContainsFunc(d.WaitsFor, func(text string) bool { return strings.HasPrefix(text, "gate ") })
	})
}

// refusedRuns ends a plan in which runs cannot be created or started. What is told to ask the hub next helps
// nobody who has files alone.
func refusedRuns(answer *plan.Answer, offline bool) error {
	var refused *session.Failure
	for i := range answer.Runs {
		r := answer.RunDetails[i].Refusal
		if r == nil {
			continue
		}
		failure := session.FailureOf(r.Failure())
		if offline {
			failure.Next = ""
		}
		failure.Code, failure.Message = session.ExitRefused, "run "+answer.Runs[i].Name+": "+failure.Message
		if refused != nil {
			failure.Message = refused.Message + "\n" + failure.Message
			failure.Faults = append(refused.Faults, failure.Faults...)
		}
		refused = failure
	}
	if refused == nil {
		return nil
	}
	return refused
}

func (a commands) planLive(ctx context.Context, o *planOptions, documents []offline.Document, at time.Time) (plan.Answer, error) {
	request := api.PlanRequest{}
	for _, d := range documents {
		request.Documents = append(request.Documents, d.Body)
	}
	if !at.IsZero() {
		request.Now = &metav1.Time{Time: at}
	}
	o.Request(&request)
	var answer plan.Answer
	if err := a.Call(ctx, api.VerbPlan, request, &answer); err != nil {
		return answer, offline.DescribeFaults(err, documents, &o.Source, false)
	}
	return answer, nil
}

func (a commands) planOffline(o *planOptions, documents []offline.Document, at time.Time) (plan.Answer, error) {
	in, collected, err := o.Collect(a.Client, documents, at)
	if err != nil {
		return plan.Answer{}, err
	}
	upgrades := &collected.Upgrades
	if len(in.Subjects) == 0 && len(upgrades.Runs) == 0 && !collected.HoldsContentRuns() {
		if slices.ContainsFunc(documents, func(d offline.Document) bool { return d.Ref.Kind == api.KindNodePool }) {
			f := session.Refusedf("the files hold NodePools and no Node: node pools are planned with the nodes and pods of a member: %s -f member.yaml", cmp.Or(o.Command("plan nodes"), "flotilla plan nodes -f -"))
			f.Next = "kubectl get nodes,pods,pdb,daemonsets -A -o yaml > member.yaml"
			return plan.Answer{}, f
		}
		return plan.Answer{}, offline.NothingToPlan(len(in.Members), len(documents))
	}
	in.Runs = upgrades.Runs
	if in.View, err = upgrades.View(time.LoadLocation, in.Now, 0); err != nil {
		return plan.Answer{}, session.Refusedf("%v", err)
	}
	in.Assume, in.AssumeContent = upgrades.Assumptions(in.View, o.Given()), o.Given()
	in.ContentRuns = collected.ContentRuns(in.View, in.Standings)
	remarks, err := collected.Remarks(time.LoadLocation, in.Now)
	if err != nil {
		return plan.Answer{}, session.Refusedf("%v", err)
	}
	in.Notes = append(in.Notes, remarks...)
	return plan.Build(in), nil
}

func (a commands) printPlan(o *planOptions, answer *plan.Answer) error {
	a.Notes(answer.Notes)
	if o.format == "json" {
		return session.PrintJSON(a.Out, answer.Report)
	}
	a.Paint(a.Coloured(answer.String()))
	if o.format == "wide" {
		for i := range answer.Placements {
			a.printVerdicts(&answer.Placements[i])
		}
	}
	return nil
}

func (a commands) printVerdicts(p *plan.Placement) {
	a.Printf("\nverdicts of %s\n", p.Name)
	for i := range p.Verdicts {
		v := &p.Verdicts[i]
		rank := ""
		if v.Rank > 0 {
			rank = fmt.Sprintf("rank %d, ", v.Rank)
		}
		a.Printf("  %s: %s%s\n", v.Member, rank, strings.TrimSpace(v.Reason))
	}
}

// noteNodes names what a plan of the fleet leaves out: what becomes of nodes.
func (a commands) noteNodes(o *planOptions, answer *plan.Answer) {
	var changes []string
	for i := range answer.Objects {
		if r := &answer.Objects[i]; nodes.IsAboutNodes(r.Object.Kind) && r.Action != api.ActionUnchanged {
			changes = append(changes, r.Object.String()+" would be "+r.Action)
		}
	}
	if len(changes) == 0 {
		return
	}
	text := "what becomes of nodes is shown by flotilla plan nodes, with the same files"
	if command := o.Command("plan nodes"); command != "" {
		text = "what becomes of nodes is shown by " + command
	}
	if a.Machine { // the report has placements and runs alone
		text = strings.Join(changes, ", ") + "; " + text
	}
	a.Note("%s", text)
}
