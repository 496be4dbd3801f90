package clusterapi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/agent/management"
)

// maxMachines bounds the machines that are named in one message.
const maxMachines = 3

// saysControl is what Cluster API says of the control plane.
func (s *survey) saysControl() string {
	c := s.control
	return joined(s.saysTopology(), c.Halted(), says(c.Status.Conditions), s.saysMachines("", c.Spec.Version))
}

// saysPool is what Cluster API says of a MachineDeployment.
func (s *survey) saysPool(p *pool) string {
	topology := ""
	if p.managed {
		topology = s.saysTopology()
	}
	return joined(topology, s.cluster.Halted(), p.Halted(), says(p.Status.Conditions), s.saysMachines(p.Name, p.Spec.Template.Spec.Version))
}

func (s *survey) saysTopology() string {
	if !s.managed() {
		return s.cluster.Halted()
	}
	return joined(s.cluster.Halted(), management.Says(s.cluster.Status.Conditions, "TopologyReconciled"))
}

// says is what keeps a MachineDeployment or a control plane from being through, by its conditions.
func says(conditions []metav1.Condition) string {
	var parts []string
	for _, kind := range []string{"RollingOut", "Remediating", "Deleting"} {
		if text := management.Tells(conditions, kind); text != "" {
			parts = append(parts, kind+": "+text)
		}
	}
	parts = append(parts, management.Says(conditions, "Available", "CertificatesAvailable", "EtcdClusterHealthy", "ControlPlaneComponentsHealthy"))
	return joined(parts...)
}

// saysMachines names the machines that are not what they are to be, and why.
func (s *survey) saysMachines(of, version string) string {
	var parts []string
	for _, m := range s.machines[of] {
		text := ""
		switch {
		case m.DeletionTimestamp != nil:
			text = cmp.Or(management.Tells(m.Status.Conditions, "Deleting"), "Deleting")
		case reaches(m.Spec.Version, version):
			text = management.Says(m.Status.Conditions, "Ready")
		}
		if text != "" {
			parts = append(parts, "Machine "+m.Name+": "+text)
		}
	}
	slices.Sort(parts)
	if more := len(parts) - maxMachines; more > 0 {
		parts = append(parts[:maxMachines], fmt.Sprintf("and %d more machines", more))
	}
	return strings.Join(parts, "; ")
}

func joined(parts ...string) string {
	return strings.Join(slices.Compact(slices.DeleteFunc(parts, func(s string) bool { return s == "" })), "; ")
}

// trace tells two looks apart between which something moved: versions, numbers, and machines with their phases.
func (s *survey) trace() string {
	var out strings.Builder
	numbers := func(what, version string, st *management.Status) {
		fmt.Fprint(&out, what, version)
		for _, n := range []*int64{st.Replicas, st.UpToDateReplicas, st.ReadyReplicas, st.AvailableReplicas} {
			if n != nil {
				fmt.Fprint(&out, " ", *n)
			}
		}
		fmt.Fprintln(&out)
	}
	if s.control != nil {
		numbers(s.control.String(), s.control.Spec.Version+" "+strings.Join(s.control.Running(), " "), &s.control.Status.Status)
	}
	for i := range s.pools {
		numbers(s.pools[i].String(), s.pools[i].Spec.Template.Spec.Version, &s.pools[i].Status)
	}
	var machines []string
	for _, all := range s.machines {
		for _, m := range all {
			ready := slices.ContainsFunc(m.Status.Conditions, func(c metav1.Condition) bool { return c.Type == "Ready" && c.Status == metav1.ConditionTrue })
			machines = append(machines, fmt.Sprint(m.Name, m.Spec.Version, m.Status.Phase, m.Status.NodeRef.Name, m.Status.NodeInfo.KubeletVersion, m.DeletionTimestamp != nil, ready))
		}
	}
	slices.Sort(machines)
	return out.String() + strings.Join(machines, "\n")
}
