package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/disruption"
)

// asNode reads "node/NAME" and "node NAME"; false when the arguments name something else.
func asNode(args []string) (ref, bool) {
	if len(args) == 0 || len(args) == 1 && !strings.Contains(args[0], "/") {
		return ref{}, false
	}
	r, err := oneRef(args, "")
	return r, err == nil && r.kind == api.KindMemberNode
}

// whyNode says why a node goes or stays.
func (a nodesCommands) whyNode(ctx context.Context, o *whyOptions, r ref) error {
	if o.format == "wide" {
		return usagef("-o wide is not for nodes, expected json")
	}
	if err := a.takeMember(r); err != nil {
		return err
	}
	a.machine = o.format == "json"
	var answer disruption.NodeAnswer
	var err error
	switch {
	case !o.empty():
		answer, err = a.whyNodeOffline(o, r)
	case o.offline:
		return usagef("--offline answers from files: name them with -f")
	case o.now != "":
		return usagef("--now needs files: a hub explains the present")
	case o.unused() != nil:
		return o.unused()
	default:
		answer, err = a.askWhyNode(ctx, r)
	}
	if err != nil {
		return err
	}
	if o.format == "json" {
		return printJSON(a.Out, answer)
	}
	a.printNodeAnswer(&answer)
	a.nextAfterWhyNode(&answer)
	return nil
}

func (a nodesCommands) askWhyNode(ctx context.Context, r ref) (disruption.NodeAnswer, error) {
	var answer disruption.NodeAnswer
	member, err := a.homeOf(ctx, r)
	if err != nil {
		return answer, err
	}
	a.member = member
	if err := a.call(ctx, api.VerbWhyNode, api.WhyNodeRequest{Member: member, Node: r.name}, &answer); err != nil {
		return answer, a.withNearNode(ctx, err, []string{r.name})
	}
	return answer, nil
}

func (a nodesCommands) whyNodeOffline(o *whyOptions, r ref) (disruption.NodeAnswer, error) {
	if a.member != "" {
		return disruption.NodeAnswer{}, usagef("-m asks the hub, -f answers from files: one or the other")
	}
	at, err := a.momentOf("--now", o.now, o.format)
	if err != nil {
		return disruption.NodeAnswer{}, err
	}
	f, err := o.readNodeFiles(a.Client)
	if err != nil {
		return disruption.NodeAnswer{}, err
	}
	f.noteAbsent()
	s, err := f.state(at, o.rules())
	if err != nil {
		return disruption.NodeAnswer{}, err
	}
	if err := knownNodes(s, []string{r.name}); err != nil {
		return disruption.NodeAnswer{}, err
	}
	for _, text := range f.notes {
		a.note("%s", text)
	}
	answer, _ := disruption.Answer(s, "", r.name, &api.DisruptionRecord{})
	return answer, nil
}

func (a nodesCommands) printNodeAnswer(answer *disruption.NodeAnswer) {
	for _, text := range answer.Notes {
		a.note("%s", text)
	}
	a.printf("%s", answer.String())
	if d := answer.Running; d != nil {
		a.printf("  disruption %s holds it since %s: %s, %s\n", d.ID, d.Decided.UTC().Format(time.RFC3339), d.Reason, d.Phase)
		if d.Message != "" {
			a.printf("    %s\n", d.Message)
		}
		a.printKilled(d, answer.Node)
	}
	if b := answer.Backoff; b != nil {
		a.printf("  its disruption failed %s, last because: %s\n", times(b.Failures), b.Why)
	}
}

// printKilled says which pods of a node a disruption kills.
func (a nodesCommands) printKilled(d *api.Disruption, node string) {
	places := placesOf(d.Replacements)
	for i := range d.Killed {
		if k := &d.Killed[i]; k.From == node {
			a.printf("    %s: killed %s -> %s\n      %s\n", k.Pod, killedWhen(k, d.Phase == api.PhaseLaunching), cmp.Or(places[k.To], k.Where()), k.Message)
		}
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func (a nodesCommands) nextAfterWhyNode(answer *disruption.NodeAnswer) {
	switch {
	case answer.Member == "":
	case answer.Running != nil:
		a.next("flotilla get disruption %s -m %s -w", answer.Running.ID, answer.Member)
	case answer.Disrupt != "":
		a.next("flotilla plan nodes -m %s", answer.Member)
	default:
		a.next("flotilla describe node/%s -m %s", answer.Node, answer.Member)
	}
}

type whyOptions struct {
	source
	moment
	nodeRules
	format string
}
