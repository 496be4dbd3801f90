package disruption

import (
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/core/cluster"
	"flotilla/core/simulate"
)

// departure is a command whose pods are followed beyond what was decided.
type departure struct {
	command *Command
	nodes   []*simulate.ExistingNode
	claims  []*simulate.Claim
	fresh   []*simulate.ExistingNode // what claims are expected to become
	killed  []killed
}

// killed is a pod that is doomed, with what is told of it.
type killed struct {
	api.KilledPod
	pod *cluster.Pod
}

// doom finds the pods that a departure kills.
func (d *deciding) doom(g *departure) {
	for _, n := range g.nodes {
		for _, k := range doomedOn(d.x, n) {
			g.killed = append(g.killed, killed{k.told(n, d.now), k.pod})
		}
	}
	slices.SortFunc(g.killed, func(a, b killed) int { return byMoment(&a.KilledPod, &b.KilledPod) })
}

// foretell tells which pods a simulated command kills, and where they go after the moves of the simulation.
func (d *deciding) foretell(g *departure, moves []simulate.Move) {
	if d.doom(g); len(g.killed) == 0 {
		return
	}
	known := map[*cluster.Pod]*simulate.Move{}
	for i := range moves {
		known[moves[i].Pod.Pod] = &moves[i]
	}
	var rest []*cluster.Pod
	for i := range g.killed {
		k := &g.killed[i]
		if m := known[k.pod]; m != nil {
			k.To = m.To()
		} else if k.needsPlace() {
			rest = append(rest, k.pod)
		}
	}
	if len(rest) > 0 {
		aftermathOf(d.x, []*departure{g}, moves, rest).settle(g, known)
	}
	g.tell()
}

// foreseeAll tells of commands that were not simulated where all their pods would go, if all of them began
// now: those that wait for a place already, the largest first with those of nodes that go, then those that
// are killed.
func (d *deciding) foreseeAll(going []*departure) []Command {
	if len(going) == 0 {
		return nil
	}
	queue, by := slices.Clone(d.x.Waiting), map[*cluster.Pod]*departure{}
	var pods []*cluster.Pod
	for _, g := range going {
		d.doom(g)
		for i := range g.killed {
			k := &g.killed[i]
			if by[k.pod] = g; k.needsPlace() {
				pods = append(pods, k.pod)
			}
		}
	}
	for _, g := range going {
		for _, n := range g.nodes {
			for _, m := range n.Movable {
				if by[m.Pod] == nil {
					by[m.Pod] = g
					queue = append(queue, m)
				}
			}
		}
	}
	slices.SortFunc(queue, simulate.PlacedFirst)
	for _, m := range queue {
		pods = append(pods, m.Pod)
	}
	a := aftermathOf(d.x, going, nil, pods)
	for _, m := range queue {
		a.follow(m, by[m.Pod])
	}
	out := make([]Command, len(going))
	for i, g := range going {
		a.settle(g, nil)
		g.tell()
		slices.SortFunc(g.command.Moves, func(a, b api.PodMove) int { return strings.Compare(a.Pod, b.Pod) })
		out[i] = *g.command
	}
	return out
}

// follow puts a pod where it would go, and tells so when it is of a departure.
func (a *aftermath) follow(m *simulate.Moving, g *departure) {
	if g == nil {
		a.place(m.Pod, nil)
		return
	}
	told := api.PodMove{Pod: m.Key, From: m.From.State.Name, Lost: m.State.Owner == ""}
	if !told.Lost {
		told.To, told.Nowhere = a.place(m.Pod, g.fresh)
	}
	g.command.Moves = append(g.command.Moves, told)
}

// settle puts the pods that a departure kills where they would go, one after another; those in known have
// a place.
func (a *aftermath) settle(g *departure, known map[*cluster.Pod]*simulate.Move) {
	for i := range g.killed {
		if k := &g.killed[i]; known[k.pod] == nil && k.needsPlace() {
			k.To, k.Nowhere = a.place(k.pod, g.fresh)
		}
	}
}

func (k *killed) needsPlace() bool { return k.pod.Movable && k.pod.State.Owner != "" }

// tell writes what became of the killed pods into the command.
func (g *departure) tell() {
	for i := range g.killed {
		k := &g.killed[i]
		switch {
		case k.pod.State.Owner == "":
			k.Lost, k.To = true, ""
		case !k.pod.Movable:
			k.Nowhere = "it belongs to its node"
		}
		g.command.Killed = append(g.command.Killed, k.KilledPod)
	}
}
