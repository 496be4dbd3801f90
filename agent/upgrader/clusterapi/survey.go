package clusterapi

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"flotilla/agent/management"
	"flotilla/core/api"
	"flotilla/core/version"
)

// survey is one look at the objects of a Cluster.
type survey struct {
	cluster *management.Cluster
	control *management.ControlPlane // nil where the Cluster names none
	pools   []pool
	// machines are those of the control plane under the empty name, and those of each MachineDeployment.
	machines map[string][]*management.Machine
	// marks are what operations wrote on the Cluster, the control plane and MachineDeployments, by their names for people.
	marks map[string]mark
}

// pool is a MachineDeployment.
type pool struct {
	name string
	*management.Deployment
	managed bool // the topology says its version
}

// String is "MachineDeployment small".
func (p *pool) String() string { return "MachineDeployment " + p.Name }

func read(ctx context.Context, v *management.View) (*survey, error) {
	s := &survey{machines: map[string][]*management.Machine{}, marks: map[string]mark{}}
	var err error
	if s.cluster, err = v.Cluster(ctx); err != nil {
		return nil, err
	}
	if s.control, err = v.ControlPlane(ctx, s.cluster); err != nil {
		return nil, err
	}
	deployments, err := v.Deployments(ctx)
	if err != nil {
		return nil, err
	}
	machines, err := v.Machines(ctx)
	if err != nil {
		return nil, err
	}
	s.sort(deployments, machines)
	return s, s.remember()
}

// sort puts each object where it belongs.
func (s *survey) sort(deployments []management.Deployment, machines []management.Machine) {
	for i := range deployments {
		d := &deployments[i]
		p := pool{name: d.Name, Deployment: d}
		if name := d.Labels[management.LabelTopologyDeployment]; s.cluster.Deployment(name) >= 0 {
			p.name, p.managed = name, true
		}
		s.pools = append(s.pools, p)
	}
	for i := range machines {
		m := &machines[i]
		if _, controls := m.Labels[management.LabelControlPlane]; controls {
			s.machines[""] = append(s.machines[""], m)
		} else if of := m.Deployment(); of != "" {
			s.machines[of] = append(s.machines[of], m)
		}
	}
}

// called are the pools of a name.
func (s *survey) called(name string) []*pool {
	var out []*pool
	for i := range s.pools {
		if s.pools[i].name == name {
			out = append(out, &s.pools[i])
		}
	}
	return out
}

// annotationUpgrade says which operation wrote which version, on the object whose version it is.
const annotationUpgrade = "flotilla.io/upgrade"

// mark is the value of that annotation.
type mark struct {
	Operation string `json:"operation"`
	Version   string `json:"version"`
}

// remember reads the marks.
func (s *survey) remember() error {
	all := map[string]map[string]string{s.cluster.String(): s.cluster.Annotations}
	if s.control != nil {
		all[s.control.String()] = s.control.Annotations
	}
	for i := range s.pools {
		all[s.pools[i].String()] = s.pools[i].Annotations
	}
	for what, annotations := range all {
		text := annotations[annotationUpgrade]
		if text == "" {
			continue
		}
		var m mark
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			return fmt.Errorf("annotation %s of %s: %w; take it off when no upgrade runs", annotationUpgrade, what, err)
		}
		s.marks[what] = m
	}
	return nil
}

// managed reports whether a topology says the version of the Cluster.
func (s *survey) managed() bool { return s.cluster.Spec.Topology.Version != "" }

// parse reads a version, with "v" or without; what distributions add does not count.
func parse(text string) (version.Version, bool) {
	text = strings.TrimPrefix(text, "v")
	if at := strings.IndexAny(text, "+-"); at >= 0 {
		text = text[:at]
	}
	return version.Parse(text)
}

// reaches reports whether a version is at least the wanted one.
func reaches(is, wanted string) bool {
	have, known := parse(is)
	aim, clear := parse(wanted)
	return known && clear && have.Compare(aim) >= 0
}

// oldest of some versions, empty when there is none that can be read.
func oldest(versions ...string) string {
	out := ""
	for _, v := range versions {
		if _, known := parse(v); known && (out == "" || !reaches(v, out)) {
			out = v
		}
	}
	return out
}

// spelled is a version as Cluster API has it.
func spelled(version string) string { return "v" + strings.TrimPrefix(version, "v") }

// kubelet is the version of a machine's node, or the one that its machine is made for.
func kubelet(m *management.Machine) string {
	if v := m.Status.NodeInfo.KubeletVersion; v != "" {
		if _, known := parse(v); known {
			return v
		}
	}
	return m.Spec.Version
}

// wanted are the pools of an operation that go to another version.
func wanted(op *api.UpgradeOperation) []api.PoolUpgrade {
	var out []api.PoolUpgrade
	for _, p := range op.NodePools {
		if p.ToVersion != "" {
			out = append(out, p)
		}
	}
	return out
}
