package clusterapi

import (
	"fmt"
	"strings"

	"flotilla/agent/management"
)

// next is what comes next of an operation: a change to write, or its end, or something to wait for.
type next struct {
	write  *change
	failed string
	over   bool

	percent int
	message string
	done    []string // the pools that are through
}

// step is the move of the control plane, or of one pool.
type step struct {
	what    string // what people call the object whose version moves
	pool    string // empty for the control plane
	to      string
	version string // that of the object
	total   int    // machines
	through int    // those of them that are there in that version
	settled bool
	waits   string // what Cluster API says
	object  change // its patch is that of the version that was read
}

// next decides.
func (s *survey) next(w *work) next {
	steps, gone := s.steps(w)
	if gone != "" {
		return next{failed: gone}
	}
	n := next{}
	whole := 0.0
	for i := range steps {
		st := &steps[i]
		if st.over() {
			if whole++; st.pool != "" {
				n.done = append(n.done, st.pool)
			}
			continue
		}
		if n.message == "" && n.write == nil && n.failed == "" {
			whole += st.share()
			n.message = st.state()
			n.write, n.failed = s.begin(w, st)
		}
	}
	n.over = len(n.done)+s.controls(steps) == len(steps)
	if n.percent = 100; !n.over {
		n.percent = min(99, int(100*whole/float64(len(steps))))
	} else {
		n.message = finished(steps)
	}
	return n
}

// controls counts the steps of the control plane that are over.
func (s *survey) controls(steps []step) int {
	if len(steps) > 0 && steps[0].pool == "" && steps[0].over() {
		return 1
	}
	return 0
}

// over reports whether a step is done.
func (st *step) over() bool {
	return reaches(st.version, st.to) && st.settled && st.through == st.total
}

// share is how much of a step is done, as far as machines tell.
func (st *step) share() float64 {
	if st.total == 0 {
		return 0
	}
	return float64(min(st.through, st.total)) / float64(st.total)
}

// state says how far a step is and what it waits for.
func (st *step) state() string {
	text := st.what + " goes to " + spelled(st.to)
	if st.total > 0 {
		text += fmt.Sprintf(": %d of %d machines are there", st.through, st.total)
	}
	if st.waits != "" {
		text += "; " + st.waits
	}
	return text
}

func finished(steps []step) string {
	var parts []string
	for i := range steps {
		parts = append(parts, steps[i].what+" is at "+spelled(steps[i].to))
	}
	return strings.Join(parts, ", ")
}

// steps are those of an operation in their order. Gone says that one of its pools is no more.
func (s *survey) steps(w *work) (steps []step, gone string) {
	if to := w.op.ControlPlaneVersion; to != "" {
		if s.control == nil {
			return nil, s.cluster.String() + " names no control plane any more"
		}
		steps = append(steps, s.controlStep(to))
	}
	for _, p := range wanted(w.op) {
		found := s.called(p.Pool)
		if len(found) != 1 {
			return nil, fmt.Sprintf("found %d MachineDeployments of node pool %s, expected one", len(found), p.Pool)
		}
		steps = append(steps, s.poolStep(found[0], p.ToVersion))
	}
	return steps, ""
}

func (s *survey) controlStep(to string) step {
	c := s.control
	st := step{what: c.String(), to: to, version: c.Spec.Version, waits: s.saysControl()}
	for _, m := range s.machines[""] {
		st.count(m)
	}
	st.settled = c.Settled() && reaches(oldest(c.Running()...), to)
	st.object = change{what: st.what, kind: c.Resource, name: c.Name, patch: changeOf(&c.ObjectMeta)}
	return st
}

func (s *survey) poolStep(p *pool, to string) step {
	st := step{what: p.String(), pool: p.name, to: to, version: p.Spec.Template.Spec.Version, waits: s.saysPool(p)}
	for _, m := range s.machines[p.Name] {
		st.count(m)
	}
	st.settled = p.Status.Settled(p.Generation, p.Wanted())
	st.object = change{what: st.what, kind: management.MachineDeployments, name: p.Name, patch: changeOf(&p.ObjectMeta)}
	return st
}

// count takes a machine in.
func (st *step) count(m *management.Machine) {
	st.total++
	if m.DeletionTimestamp == nil && reaches(m.Spec.Version, st.to) && m.Status.NodeRef.Name != "" {
		st.through++
	}
}
