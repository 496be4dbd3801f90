package nodes

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/explain"
	"flotilla/hub/flotilla/cli/offline"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

// AsNode reads "node/NAME" and "node NAME"; false when the arguments name something else.
func AsNode(args []string) (resource.Ref, bool) {
	if len(args) == 0 || len(args) == 1 && !strings.Contains(args[0], "/") {
		return resource.Ref{}, false
	}
	r, err := resource.OneRef(args, "")
	return r, err == nil && r.Kind == api.KindMemberNode
}

// WhyNode says why a node goes or stays.
func (a Commands) WhyNode(ctx context.Context, o *WhyOptions, r resource.Ref) error {
	if o.Format == "wide" {
		return session.Usagef("-o wide is not for nodes, expected json")
	}
	if err := a.TakeMember(r); err != nil {
		return err
	}
	a.Machine = o.Format == "json"
	var answer explain.NodeAnswer
	var err error
	switch {
	case !o.Empty():
		answer, err = a.whyNodeOffline(o, r)
	case o.Offline:
		return session.Usagef("--offline answers from files: name them with -f")
	case o.Now != "":
		return session.Usagef("--now needs files: a hub explains the present")
	case o.Unused() != nil:
		return o.Unused()
	default:
		answer, err = a.askWhyNode(ctx, r)
	}
	if err != nil {
		return err
	}
	if o.Format == "json" {
		return session.PrintJSON(a.Out, answer)
	}
	a.printNodeAnswer(&answer)
	a.nextAfterWhyNode(&answer)
	return nil
}

func (a Commands) askWhyNode(ctx context.Context, r resource.Ref) (explain.NodeAnswer, error) {
	var answer explain.NodeAnswer
	member, err := a.HomeOf(ctx, r)
	if err != nil {
		return answer, err
	}
	a.Member = member
	if err := a.Call(ctx, api.VerbWhyNode, api.WhyNodeRequest{Member: member, Node: r.Name}, &answer); err != nil {
		return answer, a.withNearNode(ctx, err, []string{r.Name})
	}
	return answer, nil
}

func (a Commands) whyNodeOffline(o *WhyOptions, r resource.Ref) (explain.NodeAnswer, error) {
	if a.Member != "" {
		return explain.NodeAnswer{}, session.Usagef("-m asks the hub, -f answers from files: one or the other")
	}
	at, err := a.momentOf("--now", o.Now, o.Format)
	if err != nil {
		return explain.NodeAnswer{}, err
	}
	f, err := o.ReadNodeFiles(a.Client)
	if err != nil {
		return explain.NodeAnswer{}, err
	}
	f.NoteAbsent()
	s, err := f.State(at, o.Rules())
	if err != nil {
		return explain.NodeAnswer{}, err
	}
	if err := knownNodes(s, []string{r.Name}); err != nil {
		return explain.NodeAnswer{}, err
	}
	a.Notes(f.Notes)
	answer, _ := explain.Answer(s, "", r.Name, &api.DisruptionRecord{})
	return answer, nil
}

func (a Commands) printNodeAnswer(answer *explain.NodeAnswer) {
	a.Notes(answer.Notes)
	a.Printf("%s", answer.String())
	if d := answer.Running; d != nil {
		a.Printf("  disruption %s holds it since %s: %s, %s\n", d.ID, d.Decided.UTC().Format(time.RFC3339), d.Reason, d.Phase)
		if d.Message != "" {
			a.Printf("    %s\n", d.Message)
		}
		a.printKilled(d, answer.Node)
	}
	if b := answer.Backoff; b != nil {
		a.Printf("  its disruption failed %s, last because: %s\n", times(b.Failures), b.Why)
	}
}

// printKilled says which pods of a node a disruption kills.
func (a Commands) printKilled(d *api.Disruption, node string) {
	places := placesOf(d.Replacements)
	for i := range d.Killed {
		if k := &d.Killed[i]; k.From == node {
			a.Printf("    %s: killed %s -> %s\n      %s\n", k.Pod, killedWhen(k, d.Phase == api.PhaseLaunching), cmp.Or(places[k.To], k.Where()), k.Message)
		}
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func (a Commands) nextAfterWhyNode(answer *explain.NodeAnswer) {
	switch {
	case answer.Member == "":
	case answer.Running != nil:
		a.Next("flotilla get disruption %s -m %s -w", answer.Running.ID, answer.Member)
	case answer.Disrupt != "":
		a.Next("flotilla plan nodes -m %s", answer.Member)
	default:
		a.Next("flotilla describe node/%s -m %s", answer.Node, answer.Member)
	}
}

// WhyOptions are the flags of why.
type WhyOptions struct {
	offline.Source
	offline.Moment
	offline.NodeRules
	Format string
}
