package placement

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"flotilla/core/api"
	"flotilla/core/plan"
	"flotilla/core/schedule"
	"flotilla/core/verdict"
	"flotilla/core/why"
	"flotilla/hub/flotilla/cli/nodes"
	"flotilla/hub/flotilla/cli/offline"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

// flipsFor is for up to how many members a flip is looked for when none is named: each takes many
// decisions.
const flipsFor = 32

func (a Commands) whyCommand() *cobra.Command {
	o := &nodes.WhyOptions{}
	cmd := &cobra.Command{
		Use:   "why placement/NAME [-m MEMBER] | why node/NAME -m MEMBER",
		Short: "Say why a placement goes to a member, or a node is removed, or not, and what would change that",
		Long: `Say of one member, or of all, whether a placement goes there: the filter that refused it with what was
observed against what was wanted, or its scores and rank, and the smallest single change that would
flip the verdict. Of a node, say whether it is removed or replaced now, or every reason why it stays, what removing
it alone would do, and what would make it go; each change that is named was tried.

It asks the hub, or, when files are named, answers from them alone, as plan does.`,
		Example: `  flotilla why placement/web
  flotilla why placement/web --member berlin
  flotilla why node/node-7 -m berlin
  flotilla why web --member berlin -f fleet.yaml -f web.yaml`,
		RunE: a.Do(func(ctx context.Context, args []string) error { return a.why(ctx, o, args) }),
	}
	o.Source.AddFlags(cmd.Flags())
	o.Moment.AddFlags(cmd.Flags())
	o.NodeRules.AddFlags(cmd.Flags())
	a.NamespaceFlag(cmd.Flags())
	cmd.Flags().StringVarP(&a.Member, "member", "m", "", "the member to explain, or that the node is of; without, all of them")
	cmd.Flags().StringVarP(&o.Format, "output", "o", "", "json: the stable form of docs/json.md; wide: every filter and flip")
	return cmd
}

func (a Commands) why(ctx context.Context, o *nodes.WhyOptions, args []string) error {
	if err := a.Format(o.Format, "json", "wide"); err != nil {
		return err
	}
	if r, ok := nodes.AsNode(args); ok {
		return nodes.Commands{Client: a.Client}.WhyNode(ctx, o, r)
	}
	r, err := resource.PlacementRef(args, a.Namespace)
	if err != nil {
		return err
	}
	if err := o.Unused(); err != nil {
		return err
	}
	var answers []why.Answer
	switch {
	case !o.Empty():
		answers, err = a.whyOffline(o, r)
	case o.Offline:
		return session.Usagef("--offline answers from files: name them with -f")
	case o.Now != "":
		return session.Usagef("--now needs files: a hub explains the present")
	default:
		request := api.WhyRequest{Kind: r.Kind, Namespace: r.Namespace, Placement: r.Name, Member: a.Member}
		err = a.Call(ctx, api.VerbWhy, request, &answers)
	}
	if err != nil {
		return err
	}
	if o.Format == "json" {
		return session.PrintJSON(a.Out, answers)
	}
	return a.printWhy(o, r, answers)
}

// whyOffline explains from files.
func (a Commands) whyOffline(o *nodes.WhyOptions, r resource.Ref) ([]why.Answer, error) {
	at, err := o.Time()
	if err != nil {
		return nil, err
	}
	documents, err := o.Read(a.Client)
	if err != nil {
		return nil, err
	}
	in, _, err := o.Collect(a.Client, documents, at)
	if err != nil {
		return nil, err
	}
	if len(in.Subjects) == 0 {
		return nil, offline.NothingToPlan(len(in.Members), len(documents))
	}
	a.Notes(in.Notes)
	key := r.Name
	if r.Namespace != "" {
		key = r.Namespace + "/" + r.Name
	}
	i := slices.IndexFunc(in.Subjects, func(s plan.Subject) bool { return s.Placement.Key() == key })
	if i < 0 {
		var names []string
		for _, s := range in.Subjects {
			names = append(names, s.Placement.Key())
		}
		return nil, &session.Failure{Code: session.ExitDifferent, Message: "the files hold no " + r.String() + session.Meant(session.Nearest(key, names))}
	}
	question := in.Subjects[i].Input(schedule.NewFleet(in.Members...), in.Now, in.Thresholds)
	if a.Member != "" {
		if unknown := why.Unknown(question, a.Member); unknown != nil {
			unknown.Next = "" // there may be no hub to ask
			return nil, unknown
		}
	}
	return explain(question, a.Member), nil
}

// explain answers for one member, or for all; beyond flipsFor members without their flips.
func explain(question schedule.Input, member string) []why.Answer {
	if member != "" {
		return []why.Answer{why.Explain(question, member)}
	}
	verdicts := schedule.Schedule(question).Verdicts
	answers := make([]why.Answer, verdicts.Len())
	for i := range answers {
		v := verdicts.Row(i)
		if len(answers) <= flipsFor {
			answers[i] = why.Explain(question, v.Member)
			continue
		}
		answers[i] = why.Answer{
			Placement: question.Placement, Type: question.Policy.Type(), Member: v.Member, Verdict: v, Checks: []schedule.Check{},
			NoFlip: "not looked for among so many members: ask with --member " + v.Member,
		}
	}
	return answers
}

// printWhy prints one answer in full, several as a table with the picked ones first, by rank.
func (a Commands) printWhy(o *nodes.WhyOptions, r resource.Ref, answers []why.Answer) error {
	if a.Member != "" || o.Format == "wide" {
		for i := range answers {
			a.Printf("%s", answers[i].String())
		}
		a.nextAfterWhy(o, r, answers)
		return nil
	}
	slices.SortStableFunc(answers, func(x, y why.Answer) int { return compareVerdicts(&x.Verdict, &y.Verdict) })
	w := a.Columns(2)
	session.Say(w, "MEMBER\tVERDICT\tRANK\tAFFINITY\tSPREAD\tREASON\n")
	for i := range answers {
		v := &answers[i].Verdict
		session.Say(w, "%s\t%s\t%s\t%s\t%s\t%s\n", v.Member, verdictWord(&answers[i]), rankCell(v.Rank), scoreCell(v.AffinityScore), scoreCell(v.TopologySpreadScore), v.Reason+tieNote(&answers[i]))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	a.nextAfterWhy(o, r, answers)
	return nil
}

func compareVerdicts(x, y *verdict.Verdict) int {
	if x.Picked != y.Picked {
		return session.BoolInt(y.Picked) - session.BoolInt(x.Picked)
	}
	if (x.Rank == 0) != (y.Rank == 0) {
		return session.BoolInt(x.Rank == 0) - session.BoolInt(y.Rank == 0)
	}
	return cmp.Or(x.Rank-y.Rank, cmp.Compare(x.Filter, y.Filter), cmp.Compare(x.Member, y.Member))
}

func verdictWord(a *why.Answer) string {
	switch v := &a.Verdict; {
	case v.Picked:
		return "picked"
	case v.Keeps:
		return v.Filter + ",keeps"
	default:
		return verdict.FilterWord(a.Type, v.Filter)
	}
}

// tieNote marks a member that others of the same scores came before.
func tieNote(a *why.Answer) string {
	if a.Tie == nil || a.Verdict.Picked {
		return ""
	}
	return fmt.Sprintf("; by name among %d of these scores", a.Tie.Count)
}

func rankCell(rank int) string {
	if rank == 0 {
		return "-"
	}
	return strconv.Itoa(rank)
}

func scoreCell(score *int32) string {
	if score == nil {
		return "-"
	}
	return strconv.Itoa(int(*score))
}

// nextAfterWhy names the command that brings a placement to the one member asked about, or the question
// about one member. What was answered from files goes on with them.
func (a Commands) nextAfterWhy(o *nodes.WhyOptions, r resource.Ref, answers []why.Answer) {
	if !o.Empty() {
		a.nextAfterFiles(o, r, answers)
		return
	}
	if len(answers) == 1 {
		flip := answers[0].Flip
		switch {
		case answers[0].Verdict.Picked || flip == nil || flip.Command == "":
			a.Next("flotilla describe %s", r)
		default:
			a.Next("%s", flip.Command)
		}
		return
	}
	i := slices.IndexFunc(answers, func(x why.Answer) bool { return !x.Verdict.Picked })
	if i >= 0 {
		a.Next("flotilla why %s --member %s", r, answers[i].Member)
	}
}

func (a Commands) nextAfterFiles(o *nodes.WhyOptions, r resource.Ref, answers []why.Answer) {
	i := slices.IndexFunc(answers, func(x why.Answer) bool { return !x.Verdict.Picked })
	verb := "plan --offline"
	if len(answers) > 1 && i >= 0 {
		verb = "why " + r.String() + " --member " + answers[i].Member
	}
	o.Next(a.Client, verb)
}
