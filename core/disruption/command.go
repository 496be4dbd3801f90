package disruption

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/core/simulate"
)

// Command is one disruption to begin.
type Command struct {
	Method       string        `json:"method"`
	Reason       string        `json:"reason"`
	Nodes        []string      `json:"nodes"`
	Replacements []Replacement `json:"replacements,omitempty"`
	Moves        []api.PodMove `json:"moves,omitempty"`
	// Killed are the pods that the end of a terminationGracePeriod ends past what protects them, in the order of
	// their moments (N25). Those that had room in the simulation are among Moves too.
	Killed []api.KilledPod `json:"killed,omitempty"`
	// Beside are the moves that a forecast expects of pods whose nodes go already; they take room too.
	Beside []api.PodMove `json:"beside,omitempty"`
	// Savings per hour; negative when a drifted node's replacement is dearer, unknown when the price of a node
	// that goes is.
	Savings api.Hourly `json:"savings"`
	// Forceful commands wait for nothing: no replacement comes first.
	Forceful bool `json:"forceful,omitempty"`
	// Drift is the reason of the drift.
	Drift string `json:"drift,omitempty"`
	// Begins is when a command that waits for its validation begins, if it still holds then; zero for at
	// once.
	Begins time.Time `json:"begins,omitzero"`
}

// Decision is "delete" or "replace".
func (c *Command) Decision() string {
	if len(c.Replacements) > 0 {
		return "replace"
	}
	return "delete"
}

// Foreseen reports whether where pods go is only foreseen: static drift and forceful expiration go ahead
// whether or not there is room for them, and so no place is kept for one.
func Foreseen(method string, forceful bool) bool { return forceful || method == MethodStaticDrift }

// Replacement is a node to launch before the nodes of a command go.
type Replacement struct {
	Pool string `json:"pool"`
	// InstanceTypes are cheapest first.
	InstanceTypes []string `json:"instanceTypes"`
	// CapacityTypes and Zones are what the new node is restricted to, nil for anything.
	CapacityTypes []string              `json:"capacityTypes,omitempty"`
	Zones         []string              `json:"zones,omitempty"`
	Requirements  []api.NodeRequirement `json:"requirements,omitempty"`
	// Price is the lowest that the first type costs now.
	Price float64          `json:"price"`
	Types []api.LaunchType `json:"-"`
	// Requests are those of the pods meant for it, its daemons included.
	Requests api.Amounts `json:"-"`
}

// Begun counts the command as begun in a state.
func (c *Command) Begun(s *simulate.State) { s.Begin(c.Nodes, c.Moves, Foreseen(c.Method, c.Forceful)) }

// String is the command as a person reads it: the nodes, the replacement, the way of every pod.
func (c Command) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s, saves %s", c.Decision(), strings.Join(c.Nodes, ", "), c.why(), c.Savings.Sentence())
	if !c.Begins.IsZero() {
		fmt.Fprintf(&b, ", begins at %s if it still holds then", c.Begins.Format(time.RFC3339))
	}
	b.WriteByte('\n')
	for i, r := range c.Replacements {
		fmt.Fprintf(&b, "  new-%d: pool %s, %s", i, r.Pool, strings.Join(r.InstanceTypes[:min(len(r.InstanceTypes), 5)], " or "))
		if more := len(r.InstanceTypes) - 5; more > 0 {
			fmt.Fprintf(&b, " or %d more", more)
		}
		for _, restricted := range [][]string{r.CapacityTypes, r.Zones} {
			if len(restricted) > 0 {
				fmt.Fprintf(&b, ", %s", strings.Join(restricted, " or "))
			}
		}
		fmt.Fprintf(&b, ", from %.4f an hour\n", r.Price)
	}
	killed := c.killedPods()
	for i := range c.Moves {
		if m := &c.Moves[i]; !slices.Contains(killed, m.Pod) {
			fmt.Fprintf(&b, "  %s: %s -> %s\n", m.Pod, cmp.Or(m.From, "pending"), m.Where())
		}
	}
	for i := range c.Killed {
		k := &c.Killed[i]
		fmt.Fprintf(&b, "  %s: %s -> killed %s -> %s\n    %s\n", k.Pod, k.From, c.killedWhen(k), k.Where(), k.Message)
	}
	return b.String()
}

func (c *Command) why() string {
	text := c.Reason
	if c.Drift != "" {
		text += " " + c.Drift
	}
	if c.Forceful {
		text += ", forceful: no replacement first, budgets do not count"
	}
	return text + " (" + c.Method + ")"
}

// Headline is the command in one line.
func (c *Command) Headline() string {
	text := fmt.Sprintf("%s %s: %s, saves %s", c.Decision(), phrase.Names(c.Nodes, ShownNames), c.why(), c.Savings.Sentence())
	if len(c.Replacements) == 0 {
		return text
	}
	r := &c.Replacements[0]
	return fmt.Sprintf("%s; %d new of pool %s: %s", text, len(c.Replacements), r.Pool, strings.Join(r.InstanceTypes[:min(len(r.InstanceTypes), 3)], " or "))
}

// ShownNames is how many nodes or pods a text names.
const ShownNames = 8

// Warnings say what a command destroys.
func (c *Command) Warnings() []string {
	killed := c.killedPods()
	var lost []string
	for i := range c.Moves {
		if m := &c.Moves[i]; m.Lost && !slices.Contains(killed, m.Pod) {
			lost = append(lost, m.Pod)
		}
	}
	for i := range c.Killed {
		if c.Killed[i].Lost {
			lost = append(lost, c.Killed[i].Pod)
		}
	}
	with := " with " + phrase.Names(c.Nodes, ShownNames)
	return append(lostPods(lost, with), killedNote(killed, with)...)
}

// lostPods says of pods that have no controller that they are lost, nothing of none.
func lostPods(pods []string, how string) []string {
	switch len(pods) {
	case 0:
		return nil
	case 1:
		return []string{fmt.Sprintf("pod %s is lost%s: it has no controller, and nothing makes it again", pods[0], how)}
	}
	return []string{fmt.Sprintf("%d pods are lost%s: they have no controller, and nothing makes them again: %s", len(pods), how, phrase.Names(pods, ShownNames))}
}

// Uncontrolled says which pods of a node would be lost with it.
func Uncontrolled(n *simulate.ExistingNode) []string {
	var pods []string
	for i := range n.Pods {
		if p := &n.Pods[i]; p.Movable && p.State.Owner == "" {
			pods = append(pods, p.Key)
		}
	}
	return lostPods(pods, "")
}
