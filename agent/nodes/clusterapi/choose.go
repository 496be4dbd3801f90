package clusterapi

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"flotilla/agent/management"
	"flotilla/core/api"
	"flotilla/core/phrase"
)

// declared is what a MachineDeployment says its nodes are.
func declared(d *management.Deployment) map[string]string {
	template := d.Spec.Template.Labels
	out := map[string]string{}
	for _, key := range []string{corev1.LabelInstanceTypeStable, corev1.LabelTopologyZone, api.LabelCapacityType} {
		if value := template[key]; value != "" {
			out[key] = value
		}
	}
	for pair := range strings.SplitSeq(d.Annotations[management.AnnotationCapacityLabels], ",") {
		if key, value, is := strings.Cut(strings.TrimSpace(pair), "="); is {
			out[key] = value
		}
	}
	if zone := d.Spec.Template.Spec.FailureDomain; zone != "" && out[corev1.LabelTopologyZone] == "" {
		out[corev1.LabelTopologyZone] = zone
	}
	if out[api.LabelCapacityType] == "" {
		out[api.LabelCapacityType] = "on-demand"
		if _, is := template[management.LabelInterruptible]; is {
			out[api.LabelCapacityType] = "spot"
		}
	}
	return out
}

// pool is the NodePool that a MachineDeployment belongs to, empty for none.
func pool(d *management.Deployment) string {
	return cmp.Or(d.Labels[api.LabelNodePool], d.Spec.Template.Labels[api.LabelNodePool])
}

// choose is the MachineDeployment that makes the cheapest of what a launch may be; of equal ones the first by name. Nil
// comes with the reasons why it is none.
func (s *survey) choose(l *api.NodeLaunch) (*management.Deployment, string) {
	var best *management.Deployment
	var least float64
	var reasons []string
	for i := range s.deployments {
		d := &s.deployments[i]
		if pool(d) != l.Pool {
			continue
		}
		why := cmp.Or(s.full(d), d.Halted(), unfit(d, l))
		if d.DeletionTimestamp != nil {
			why = "it is being deleted"
		}
		if why != "" {
			reasons = append(reasons, d.Name+": "+why)
			continue
		}
		if price := price(d, l); best == nil || price < least || price == least && d.Name < best.Name {
			best, least = d, price
		}
	}
	switch {
	case best != nil:
		return best, ""
	case len(reasons) == 0:
		return nil, fmt.Sprintf("no MachineDeployment of Cluster %s/%s has the label %s=%s, by which it makes nodes of the NodePool",
			s.cluster.Namespace, s.cluster.Name, api.LabelNodePool, l.Pool)
	}
	slices.Sort(reasons)
	return nil, "no MachineDeployment of NodePool " + l.Pool + " can make it: " + strings.Join(reasons, "; ")
}

// full says that a MachineDeployment may not have more Machines, empty when it may.
func (s *survey) full(d *management.Deployment) string {
	text, bounded := d.Annotations[management.AnnotationMaxSize]
	if !bounded {
		return ""
	}
	most, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Sprintf("its annotation %s is %q, expected a number", management.AnnotationMaxSize, text)
	}
	if has := s.wanted(d); has >= most {
		return fmt.Sprintf("it has %d machines, and at most %s by its annotation %s", has, text, management.AnnotationMaxSize)
	}
	return ""
}

// unfit says why the nodes of a MachineDeployment are not what a launch asks for, empty when they are. Labels other than
// those that decide about the price may come from elsewhere, so only what it says of them counts.
func unfit(d *management.Deployment, l *api.NodeLaunch) string {
	is := declared(d)
	kind, said := is[corev1.LabelInstanceTypeStable]
	switch {
	case !said:
		return "it does not say " + corev1.LabelInstanceTypeStable + ", which its annotation " + management.AnnotationCapacityLabels + " is for"
	case !slices.Contains(l.InstanceTypes, kind):
		return fmt.Sprintf("its instance type is %s, expected one of %s", kind, phrase.Names(l.InstanceTypes, mostNamed))
	}
	for _, r := range l.Requirements {
		value, said := is[r.Key]
		if r.Key == api.LabelNodePool || !said && r.Key != corev1.LabelTopologyZone {
			continue
		}
		asks, err := labels.NewRequirement(r.Key, operators[corev1.NodeSelectorOperator(r.Operator)], r.Values)
		switch {
		case err != nil:
			return err.Error()
		case asks.Matches(labels.Set(is)):
		case !said:
			return "it does not say " + r.Key + ", which its failure domain would be"
		default:
			return fmt.Sprintf("%s is %s, expected %s", r.Key, value, asks)
		}
	}
	return ""
}

// operators are those of node selectors in the words of label selectors.
var operators = map[corev1.NodeSelectorOperator]selection.Operator{
	corev1.NodeSelectorOpIn: selection.In, corev1.NodeSelectorOpNotIn: selection.NotIn,
	corev1.NodeSelectorOpExists: selection.Exists, corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
	corev1.NodeSelectorOpGt: selection.GreaterThan, corev1.NodeSelectorOpLt: selection.LessThan,
}

// price is what the nodes of a MachineDeployment cost by the hub's catalog. Those that it does not tell of come last, in
// the order of the launch, which is by price too.
func price(d *management.Deployment, l *api.NodeLaunch) float64 {
	is := declared(d)
	for i := range l.Types {
		if l.Types[i].Name != is[corev1.LabelInstanceTypeStable] {
			continue
		}
		for j := range l.Types[i].Offerings {
			o := &l.Types[i].Offerings[j]
			if o.IsAvailable() && o.Zone == is[corev1.LabelTopologyZone] && o.CapacityType == is[api.LabelCapacityType] {
				return float64(o.Price)
			}
		}
	}
	return math.MaxFloat32 * float64(1+slices.Index(l.InstanceTypes, is[corev1.LabelInstanceTypeStable]))
}

// mostNamed is how many instance types are named.
const mostNamed = 3
