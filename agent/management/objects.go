package management

import (
	"cmp"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group and Version of Cluster API's kinds; v1.11 was the first to serve this version.
const (
	Group   = "cluster.x-k8s.io"
	Version = "v1beta2"
)

// Cluster API's kinds.
var (
	Clusters           = schema.GroupVersionResource{Group: Group, Version: Version, Resource: "clusters"}
	MachineDeployments = schema.GroupVersionResource{Group: Group, Version: Version, Resource: "machinedeployments"}
	Machines           = schema.GroupVersionResource{Group: Group, Version: Version, Resource: "machines"}
)

// Labels and annotations of Cluster API.
const (
	LabelCluster            = "cluster.x-k8s.io/cluster-name"
	LabelControlPlane       = "cluster.x-k8s.io/control-plane"
	LabelDeployment         = "cluster.x-k8s.io/deployment-name"
	LabelInterruptible      = "cluster.x-k8s.io/interruptible"
	LabelTopologyDeployment = "topology.cluster.x-k8s.io/deployment-name"

	// AnnotationDefer and AnnotationHold are on entries of a topology: the first leaves one behind when the version of the
	// topology changes, the second that one and all that follow it.
	AnnotationDefer = "topology.cluster.x-k8s.io/defer-upgrade"
	AnnotationHold  = "topology.cluster.x-k8s.io/hold-upgrade-sequence"

	AnnotationPaused         = "cluster.x-k8s.io/paused"
	AnnotationDelete         = "cluster.x-k8s.io/delete-machine"
	AnnotationNoDrain        = "machine.cluster.x-k8s.io/exclude-node-draining"
	AnnotationNoDetach       = "machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach"
	AnnotationMaxSize        = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
	AnnotationCapacityLabels = "capacity.cluster-autoscaler.kubernetes.io/labels"

	// AnnotationClusterName and AnnotationClusterNamespace are on Nodes: whose they are.
	AnnotationClusterName      = "cluster.x-k8s.io/cluster-name"
	AnnotationClusterNamespace = "cluster.x-k8s.io/cluster-namespace"
)

// Cluster is what a Cluster says. Whole is all of it, for changes of lists in it.
type Cluster struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              ClusterSpec `json:"spec"`
	Status            struct {
		Conditions []metav1.Condition `json:"conditions,omitempty"`
	} `json:"status"`
	Whole map[string]any `json:"-"`
}

// ClusterSpec is the spec of a Cluster.
type ClusterSpec struct {
	Paused          bool      `json:"paused,omitempty"`
	ControlPlaneRef Reference `json:"controlPlaneRef,omitzero"`
	Topology        Topology  `json:"topology,omitzero"`
}

// Reference names an object of the same namespace, of whatever version is served.
type Reference struct {
	APIGroup string `json:"apiGroup"`
	Kind     string `json:"kind"`
	Name     string `json:"name"`
}

// Topology is what a ClusterClass makes the objects of a Cluster by; empty where none does.
type Topology struct {
	// Version is the one of the whole Cluster, empty where it has no topology.
	Version string `json:"version,omitempty"`
	Workers struct {
		MachineDeployments []TopologyDeployment `json:"machineDeployments,omitempty"`
	} `json:"workers,omitzero"`
}

// TopologyDeployment is a MachineDeployment as the topology has it.
type TopologyDeployment struct {
	Name     string            `json:"name"`
	Replicas *int64            `json:"replicas,omitempty"`
	Metadata metav1.ObjectMeta `json:"metadata,omitzero"` // labels and annotations
}

// Deployment is the place of a MachineDeployment in the topology, -1 when it is not of it.
func (c *Cluster) Deployment(name string) int {
	for i := range c.Spec.Topology.Workers.MachineDeployments {
		if name != "" && c.Spec.Topology.Workers.MachineDeployments[i].Name == name {
			return i
		}
	}
	return -1
}

// String is "Cluster fleet/berlin".
func (c *Cluster) String() string { return fmt.Sprintf("Cluster %s/%s", c.Namespace, c.Name) }

// Halted says what keeps Cluster API from acting on the Cluster, empty when nothing does.
func (c *Cluster) Halted() string {
	_, annotated := c.Annotations[AnnotationPaused]
	if c.Spec.Paused || annotated {
		return c.String() + " is paused"
	}
	return ""
}

// Deployment is what a MachineDeployment says.
type Deployment struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Replicas *int64 `json:"replicas,omitempty"`
		Paused   bool   `json:"paused,omitempty"`
		Rollout  struct {
			Strategy struct {
				Type string `json:"type,omitempty"`
			} `json:"strategy,omitzero"`
		} `json:"rollout,omitzero"`
		Template struct {
			metav1.ObjectMeta `json:"metadata"`
			Spec              struct {
				Version       string `json:"version,omitempty"`
				FailureDomain string `json:"failureDomain,omitempty"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
	Status Status `json:"status"`
}

// RolloutOnDelete is the strategy of a MachineDeployment whose machines stay what they are until somebody deletes them.
const RolloutOnDelete = "OnDelete"

// Status is what MachineDeployments and control planes say of themselves.
type Status struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Replicas           *int64             `json:"replicas,omitempty"`
	UpToDateReplicas   *int64             `json:"upToDateReplicas,omitempty"`
	ReadyReplicas      *int64             `json:"readyReplicas,omitempty"`
	AvailableReplicas  *int64             `json:"availableReplicas,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// Settled reports whether as many replicas as are wanted are there, and up to date, and ready; a number that is not said
// does not count. Generation is that of the object.
func (s *Status) Settled(generation, wanted int64) bool {
	if s.ObservedGeneration != 0 && s.ObservedGeneration < generation {
		return false
	}
	for _, n := range []*int64{s.Replicas, s.UpToDateReplicas, s.ReadyReplicas, s.AvailableReplicas} {
		if n != nil && *n != wanted {
			return false
		}
	}
	return true
}

// Wanted is how many Machines a MachineDeployment is to have.
func (d *Deployment) Wanted() int64 { return count(d.Spec.Replicas) }

// Halted says what keeps Cluster API from acting on the MachineDeployment, empty when nothing does.
func (d *Deployment) Halted() string {
	_, annotated := d.Annotations[AnnotationPaused]
	if d.Spec.Paused || annotated {
		return fmt.Sprintf("MachineDeployment %s is paused", d.Name)
	}
	return ""
}

// Machine is what a Machine says.
type Machine struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Version    string `json:"version,omitempty"`
		ProviderID string `json:"providerID,omitempty"`
	} `json:"spec"`
	Status struct {
		Phase    string `json:"phase,omitempty"`
		NodeInfo struct {
			KubeletVersion string `json:"kubeletVersion,omitempty"`
		} `json:"nodeInfo,omitzero"`
		NodeRef struct {
			Name string `json:"name,omitempty"`
		} `json:"nodeRef,omitzero"`
		Conditions []metav1.Condition `json:"conditions,omitempty"`
	} `json:"status"`
}

// Deployment is the name of the MachineDeployment that a Machine is of, empty when it is of none.
func (m *Machine) Deployment() string { return m.Labels[LabelDeployment] }

// Says is what the conditions of some types tell that are not True, in that order: "InfrastructureReady: no quota".
func Says(conditions []metav1.Condition, types ...string) string {
	var out []string
	for _, kind := range types {
		for i := range conditions {
			c := &conditions[i]
			if c.Type == kind && c.Status != metav1.ConditionTrue && cmp.Or(c.Message, c.Reason) != "" {
				out = append(out, kind+": "+oneLine(cmp.Or(c.Message, c.Reason)))
			}
		}
	}
	return strings.Join(out, "; ")
}

// Tells is the message of a condition while it is True, empty otherwise.
func Tells(conditions []metav1.Condition, kind string) string {
	for i := range conditions {
		if c := &conditions[i]; c.Type == kind && c.Status == metav1.ConditionTrue {
			return oneLine(cmp.Or(c.Message, c.Reason))
		}
	}
	return ""
}

// oneLine is a text of Cluster API, which lists one thing a line, on one.
func oneLine(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "* ")); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, ", ")
}

func count(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
