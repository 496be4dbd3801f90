package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
)

// uncontrolled are the pods on nodes that nothing makes again: the input of N24.
func (c *consolidationCase) uncontrolled() []string {
	var out []string
	for i := range c.Pods {
		if p := &c.Pods[i]; p.Owner == "none" && p.Node != "" && p.needsPlace() {
			out = append(out, cmp.Or(p.Namespace, "default")+"/"+p.Name)
		}
	}
	return out
}

// asObjects is the case as the objects of a cluster tell it.
func (c *consolidationCase) asObjects() *consolidationCase {
	out := *c
	out.bare = true
	return &out
}

func (c *consolidationCase) decide(off capacity.Departures) *disruption.Decision {
	got := disruption.Decide(c.state(capacity.Rules{Off: off}))
	return &got
}

// explainLost says of a case with pods that nothing makes again whether N24 explains another answer of a command
// than the recorded one: with the decision off the core must give the recorded answer, with it on that of the
// command, and what the decision promises must hold.
func (c *consolidationCase) explainLost(told *telling, got *disruption.Decision, notes []string) {
	objects := c.asObjects()
	if _, off := objects.decided(capacity.Departures{LostPods: true}); len(off) > 0 {
		return
	}
	if other := decisionsDiffer(got, objects.decide(capacity.Departures{})); len(other) > 0 {
		told.differences = append(told.differences, other...)
		return
	}
	if broken := c.keptLost(got, notes); broken != "" {
		told.differences = append(told.differences, "N24 does not hold: "+broken)
		return
	}
	told.decision = "N24"
}

// keptLost says how an answer breaks N24: not every move of a pod that nothing makes again is told as lost, or
// that of another pod is, no note warns of it, or more differs from the recording than these moves.
func (c *consolidationCase) keptLost(got *disruption.Decision, notes []string) string {
	bare := c.uncontrolled()
	rest, recorded := *c, map[string]string{}
	for pod, to := range c.Want.Placements {
		if !slices.Contains(bare, pod) {
			recorded[pod] = to
		}
	}
	if c.Want.Placements != nil {
		rest.Want.Placements = recorded
	}
	others := *got
	others.Commands = slices.Clone(got.Commands)
	for i := range others.Commands {
		command := &others.Commands[i]
		for _, m := range command.Moves {
			switch lost := slices.Contains(bare, m.Pod); {
			case lost != m.Lost, lost && m.To != "":
				return fmt.Sprintf("pod %s is told to go to %q, lost: %t", m.Pod, m.To, m.Lost)
			case lost && !slices.ContainsFunc(notes, warnsOfLoss):
				return fmt.Sprintf("no note warns that pod %s is lost", m.Pod)
			}
		}
		command.Moves = slices.Clone(command.Moves)
		command.Moves = slices.DeleteFunc(command.Moves, func(m api.PodMove) bool { return m.Lost })
	}
	return strings.Join(rest.compare(&others), ", ")
}

func warnsOfLoss(note string) bool {
	return strings.Contains(note, "nothing makes") && strings.Contains(note, "lost with ")
}
