package clusterapi

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"flotilla/agent/management"
)

// deferredBy is the value of the annotation that this driver leaves pools behind by; that of others stays.
const deferredBy = "flotilla"

// beginTopology is what has to be written in the topology of the Cluster, or what somebody else has done to it. Its
// controller moves the control plane first, then the pools that are not left behind.
func (s *survey) beginTopology(w *work) (*change, string) {
	is, to := s.cluster.Spec.Topology.Version, w.op.ControlPlaneVersion
	to = cmp.Or(to, is)
	rises := !reaches(is, to)
	if rises && s.begun(w, s.cluster.String()) {
		return nil, undone(s.cluster.String(), to, is)
	}
	named := map[string]bool{}
	for _, p := range wanted(w.op) {
		named[p.Pool] = true
		for _, found := range s.called(p.Pool) {
			if why := s.held(found); why != "" {
				return nil, why
			}
		}
	}
	out := map[string]any{}
	if rises {
		out["version"] = spelled(to)
	}
	if changed := s.workers(named, rises); len(changed) > 0 {
		out["workers"] = changed
	}
	switch {
	case len(out) == 0:
		return nil, ""
	case s.begun(w, s.cluster.String()):
		return nil, fmt.Sprintf("somebody else had node pools left behind since by annotation %s in the topology of %s: take it off, then start the run again", management.AnnotationDefer, s.cluster)
	}
	c := change{what: s.cluster.String(), kind: management.Clusters, name: s.cluster.Name, patch: changeOf(&s.cluster.ObjectMeta)}
	return c.of(w, map[string]any{"topology": out}, to)
}

// workers are the lists of a topology that change: pools that are not named are left behind when its version rises, and
// those that are named are so no more. MachinePools are never named.
func (s *survey) workers(named map[string]bool, rises bool) map[string]any {
	spec, _ := s.cluster.Whole["spec"].(map[string]any)
	topology, _ := spec["topology"].(map[string]any)
	workers, _ := topology["workers"].(map[string]any)
	changed := map[string]any{}
	for kind, named := range map[string]map[string]bool{"machineDeployments": named, "machinePools": nil} {
		all, _ := workers[kind].([]any)
		if all, differs := deferring(all, named, rises); differs {
			changed[kind] = all
		}
	}
	return changed
}

// deferring are the entries of a list as they are to be; differs says whether that is anything new.
func deferring(entries []any, named map[string]bool, rises bool) (out []any, differs bool) {
	for _, entry := range entries {
		was, _ := entry.(map[string]any)
		name, _ := was["name"].(string)
		meta, _ := was["metadata"].(map[string]any)
		annotations, _ := meta["annotations"].(map[string]any)
		_, deferred := annotations[management.AnnotationDefer]
		if changes := named[name] && deferred || !named[name] && !deferred && rises; changes {
			entry, differs = deferringOne(was, !deferred), true
		}
		out = append(out, entry)
	}
	return out, differs
}

// deferringOne is an entry that is left behind, or is not.
func deferringOne(was map[string]any, behind bool) map[string]any {
	entry := runtime.DeepCopyJSON(was)
	meta, _ := entry["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
		entry["metadata"] = meta
	}
	annotations, _ := meta["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
		meta["annotations"] = annotations
	}
	if behind {
		annotations[management.AnnotationDefer] = deferredBy
		return entry
	}
	delete(annotations, management.AnnotationDefer)
	return entry
}

// held says who keeps a MachineDeployment of the topology at its version, empty when nobody but this driver does.
func (s *survey) held(p *pool) string {
	if !p.managed {
		return ""
	}
	all := s.cluster.Spec.Topology.Workers.MachineDeployments
	at := s.cluster.Deployment(p.name)
	if i := slices.IndexFunc(all[:at+1], func(e management.TopologyDeployment) bool {
		_, holds := e.Metadata.Annotations[management.AnnotationHold]
		return holds
	}); i >= 0 {
		return fmt.Sprintf("annotation %s of %s in the topology of %s holds node pool %s back: take it off", management.AnnotationHold, all[i].Name, s.cluster, p.name)
	}
	if by, defers := all[at].Metadata.Annotations[management.AnnotationDefer]; defers && by != deferredBy {
		return fmt.Sprintf("annotation %s in the topology of %s holds node pool %s back: take it off", management.AnnotationDefer, s.cluster, p.name)
	}
	return ""
}
