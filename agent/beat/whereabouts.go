package beat

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"flotilla/agent/target"
	"flotilla/core/api"
	"flotilla/core/validate"
)

// azureID is what a provider id of Azure says: the subscription, and the resource group of the nodes.
var azureID = regexp.MustCompile(`(?i)^azure:///subscriptions/([^/]+)/resourceGroups/([^/]+)/`)

// Whereabouts are the labels that nodes give their member: where they all say the same, their region (which is its
// location too) and zone, and the subscription and the resource group that Azure's provider ids name. What differs
// between nodes, is not said by one, or is no value of a label, is left out.
func Whereabouts(nodes []target.Node) map[string]string {
	labels := map[string]string{}
	set := func(key string, of func(*target.Node) string) {
		value := shared(nodes, of)
		if value != "" && len(validate.Labels("labels", map[string]string{key: value})) == 0 {
			labels[key] = value
		}
	}
	set(corev1.LabelTopologyRegion, region)
	set(api.LabelLocation, region)
	set(api.LabelSubscriptionID, func(n *target.Node) string { return azure(n, 1) })
	set(api.LabelResourceGroup, func(n *target.Node) string { return azure(n, 2) })
	if len(labels) > 0 {
		set(corev1.LabelTopologyZone, func(n *target.Node) string { return n.Zone })
	}
	return labels
}

func region(n *target.Node) string { return n.Region }

func azure(n *target.Node, part int) string {
	said := azureID.FindStringSubmatch(n.ProviderID)
	if said == nil {
		return ""
	}
	return strings.ToLower(said[part]) // Azure does not tell them apart, and writes them either way
}

// shared is what all nodes say, empty when they differ.
func shared(nodes []target.Node, of func(*target.Node) string) string {
	value := ""
	for i := range nodes {
		said := of(&nodes[i])
		if said == "" || i > 0 && said != value {
			return ""
		}
		value = said
	}
	return value
}
