package configs

import (
	"strconv"

	"flotilla/core/validate"
)

// ClusterAPI says where the Cluster API objects of the member's cluster lie.
type ClusterAPI struct {
	// Kubeconfig of the management cluster, and one of its contexts, the current one when empty. Without one the cluster
	// manages itself, and is asked as the member is.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	Context    string `json:"context,omitempty"`
	// Namespace of the Cluster, that of the context when empty, or default; and its name, that of the member when empty.
	Namespace string `json:"namespace,omitempty"`
	Cluster   string `json:"cluster,omitempty"`
}

func (c *checks) clusterAPI(m *ClusterAPI) {
	c.unless(m.Kubeconfig != "" || m.Context == "", "clusterAPI.context", strconv.Quote(m.Context), "nothing, because there is no kubeconfig")
	if m.Namespace != "" {
		c.faults = append(c.faults, validate.MemberName("clusterAPI.namespace", m.Namespace)...)
	}
	if m.Cluster != "" {
		c.faults = append(c.faults, validate.MemberName("clusterAPI.cluster", m.Cluster)...)
	}
}
