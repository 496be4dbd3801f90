package stage

import "flotilla/core/api"

// Restart has the run go over another tree, from its beginning.
func (r *Run) Restart(stages []api.StageStatus, members int) {
	r.Status.Stages, r.Status.Members = stages, members
	r.owned = make([]bool, len(stages))
	for i := range r.owned {
		r.owned[i] = true
	}
	r.rebase()
}

// Open opens the gates of a type that the run waits for.
func (r *Run) Open(gateType string) {
	i := r.current()
	if i < 0 {
		return
	}
	EachGate(r.Own(i), func(g *api.GateStatus, _ GateScope) {
		if g.Type == gateType && g.Status.State == api.StatePending {
			r.Enter(&g.Status, api.StateCompleted)
		}
	})
}

// Halt stops the run: what runs may finish.
func (r *Run) Halt() { r.halt(api.StateStopped) }
