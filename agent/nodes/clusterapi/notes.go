package clusterapi

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flotilla/agent/management"
)

// annotationNotes keeps on what says how many Machines there are to be for which launches and removals that was changed.
const annotationNotes = "flotilla.io/machines"

// notes are what a number was changed for. Whoever changes it writes them in the same write, so that it is not changed
// for the same once more.
type notes struct {
	// Launches that have no machine yet, by name.
	Launches map[string]mark `json:"launches,omitempty"`
	// Removals are the names of Machines that are to go, by uid.
	Removals map[string]string `json:"removals,omitempty"`
}

// mark is a launch: a Machine of Deployment is for it that was made after After, or then and is not one of Beside.
type mark struct {
	Deployment string      `json:"deployment"`
	After      metav1.Time `json:"after,omitzero"`
	Beside     []string    `json:"beside,omitempty"`
}

// holder is the object that says how many Machines a MachineDeployment has: itself, or the Cluster by its topology.
type holder struct {
	kind    schema.GroupVersionResource
	meta    *metav1.ObjectMeta
	notes   notes
	cluster *management.Cluster // of the topology, nil for a MachineDeployment
	wanted  int64               // of the MachineDeployment; of a topology see replicas
}

// holdersOf are the Cluster, and all MachineDeployments.
func holdersOf(s *survey) ([]*holder, error) {
	all := []*holder{{kind: management.Clusters, meta: &s.cluster.ObjectMeta, cluster: s.cluster}}
	for i := range s.deployments {
		d := &s.deployments[i]
		all = append(all, &holder{kind: management.MachineDeployments, meta: &d.ObjectMeta, wanted: d.Wanted()})
	}
	for _, h := range all {
		text := h.meta.Annotations[annotationNotes]
		if text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(text), &h.notes); err != nil {
			return nil, fmt.Errorf("annotation %s of %s %s: %w; take it off when no node is being replaced", annotationNotes, h.kind.Resource, h.meta.Name, err)
		}
	}
	return all, nil
}

// holder is the one that says how many Machines a MachineDeployment has. A topology that says no number leaves that to
// the MachineDeployment.
func (s *survey) holder(d *management.Deployment) *holder {
	at := s.cluster.Deployment(d.Labels[management.LabelTopologyDeployment])
	if at >= 0 && s.cluster.Spec.Topology.Workers.MachineDeployments[at].Replicas != nil {
		return s.holders[0]
	}
	for _, h := range s.holders[1:] {
		if h.meta == &d.ObjectMeta {
			return h
		}
	}
	return s.holders[0]
}

// wanted is how many Machines a MachineDeployment is to have.
func (s *survey) wanted(d *management.Deployment) int64 {
	if h := s.holder(d); h.cluster != nil {
		return *h.cluster.Spec.Topology.Workers.MachineDeployments[h.cluster.Deployment(d.Labels[management.LabelTopologyDeployment])].Replicas
	}
	return d.Wanted()
}

// awaits reports whether a launch is noted here.
func (h *holder) awaits(launch string) bool {
	_, there := h.notes.Launches[launch]
	return there
}

// mark is the one of a launch, nil when there is none.
func (s *survey) mark(launch string) *mark {
	for _, h := range s.holders {
		if one, there := h.notes.Launches[launch]; there {
			return &one
		}
	}
	return nil
}

// removed is what was made smaller for a Machine, nil when nothing was.
func (s *survey) removed(m *management.Machine) *holder {
	for _, h := range s.holders {
		if _, there := h.notes.Removals[string(m.UID)]; there {
			return h
		}
	}
	return nil
}

// drop takes the note of a launch off.
func (p *Provider) drop(ctx context.Context, s *survey, launch string) error {
	for _, h := range s.holders {
		if h.awaits(launch) {
			return p.write(ctx, s, h, nil, 0, func(n *notes) { delete(n.Launches, launch) })
		}
	}
	return nil
}

// tidy takes the notes of Machines off that are gone.
func (p *Provider) tidy(ctx context.Context, s *survey) error {
	for _, h := range s.holders {
		if len(h.notes.Removals) == len(s.standing(h.notes.Removals)) {
			continue
		}
		if err := p.write(ctx, s, h, nil, 0, func(*notes) {}); err != nil {
			return err
		}
	}
	return nil
}

// standing are the removals whose Machines are still there.
func (s *survey) standing(removals map[string]string) map[string]string {
	out := map[string]string{}
	for i := range s.machines {
		if name, there := removals[string(s.machines[i].UID)]; there {
			out[string(s.machines[i].UID)] = name
		}
	}
	return out
}

// write changes the notes of a holder, and by how many Machines a MachineDeployment of it is larger, in one write.
func (p *Provider) write(ctx context.Context, s *survey, h *holder, d *management.Deployment, by int64, change func(*notes)) error {
	n := notes{Launches: maps.Clone(h.notes.Launches), Removals: s.standing(h.notes.Removals)}
	change(&n)
	var text any
	if len(n.Launches) > 0 || len(n.Removals) > 0 {
		body, err := json.Marshal(n)
		if err != nil {
			return err
		}
		text = string(body)
	}
	patch := map[string]any{"metadata": map[string]any{"resourceVersion": h.meta.ResourceVersion, "annotations": map[string]any{annotationNotes: text}}}
	if by != 0 {
		patch["spec"] = h.scaled(d, by)
	}
	s.changed = true
	return p.o.View.Patch(ctx, h.kind, h.meta.Name, patch)
}

// scaled is the part of a spec by which a MachineDeployment has more Machines, or fewer.
func (h *holder) scaled(d *management.Deployment, by int64) map[string]any {
	if h.cluster == nil {
		return map[string]any{"replicas": max(0, h.wanted+by)}
	}
	at := h.cluster.Deployment(d.Labels[management.LabelTopologyDeployment])
	spec, _ := h.cluster.Whole["spec"].(map[string]any)
	topology, _ := spec["topology"].(map[string]any)
	workers, _ := topology["workers"].(map[string]any)
	all, _ := workers["machineDeployments"].([]any)
	all = slices.Clone(all)
	entry, _ := all[at].(map[string]any)
	entry = runtime.DeepCopyJSON(entry)
	entry["replicas"] = max(0, *h.cluster.Spec.Topology.Workers.MachineDeployments[at].Replicas+by)
	all[at] = entry
	return map[string]any{"topology": map[string]any{"workers": map[string]any{"machineDeployments": all}}}
}
