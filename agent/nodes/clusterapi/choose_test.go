package clusterapi

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/agent/management"
	"flotilla/core/api"
)

// of is a MachineDeployment with labels of its nodes, and more annotations.
func of(name, says string, annotations ...string) management.Deployment {
	d := management.Deployment{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{api.LabelNodePool: "workers"}, Annotations: map[string]string{management.AnnotationCapacityLabels: says},
	}}
	d.Spec.Replicas = new(int64(2))
	for i := 0; i < len(annotations); i += 2 {
		d.Annotations[annotations[i]] = annotations[i+1]
	}
	return d
}

const (
	d4 = "node.kubernetes.io/instance-type=d4,topology.kubernetes.io/zone=z-a"
	d8 = "node.kubernetes.io/instance-type=d8,topology.kubernetes.io/zone=z-a"
)

func TestTheCheapestThatFitsIsMadeLarger(t *testing.T) {
	offers := []api.LaunchType{
		{Name: "d4", Offerings: []api.InstanceOffering{{Zone: "z-a", CapacityType: "on-demand", Price: 0.4}, {Zone: "z-a", CapacityType: "spot", Price: 0.1}}},
		{Name: "d8", Offerings: []api.InstanceOffering{{Zone: "z-a", CapacityType: "on-demand", Price: 0.2}}},
	}
	spot := of("spot", d4)
	spot.Spec.Template.Labels = map[string]string{management.LabelInterruptible: ""}
	zoned := of("zoned", "node.kubernetes.io/instance-type=d4")
	zoned.Spec.Template.Spec.FailureDomain = "z-b"
	byTemplate := of("template", "")
	byTemplate.Labels, byTemplate.Spec.Template.Labels = nil, map[string]string{api.LabelNodePool: "workers", "node.kubernetes.io/instance-type": "d4"}
	foreign := of("foreign", d4)
	foreign.Labels[api.LabelNodePool] = "batch"
	in := func(key string, values ...string) []api.NodeRequirement {
		return []api.NodeRequirement{{Key: key, Operator: "In", Values: values}}
	}
	for name, one := range map[string]struct {
		given []management.Deployment
		types []api.LaunchType
		asks  []api.NodeRequirement
		want  string
	}{
		"by price":                       {given: []management.Deployment{of("a", d4), of("b", d8)}, types: offers, want: "b"},
		"by the order of types":          {given: []management.Deployment{of("b", d8), of("a", d4)}, want: "a"},
		"by name":                        {given: []management.Deployment{of("z", d4), of("y", d4)}, want: "y"},
		"spot is cheaper":                {given: []management.Deployment{of("a", d8), spot}, types: offers, want: "spot"},
		"on-demand is asked for":         {given: []management.Deployment{of("a", d8), spot}, types: offers, asks: in(api.LabelCapacityType, "on-demand"), want: "a"},
		"a zone by its failure domain":   {given: []management.Deployment{of("a", d4), zoned}, asks: in("topology.kubernetes.io/zone", "z-b"), want: "zoned"},
		"by labels of its template":      {given: []management.Deployment{foreign, byTemplate}, want: "template"},
		"what it does not say may be so": {given: []management.Deployment{of("a", d4)}, asks: in("kubernetes.io/arch", "amd64"), want: "a"},
		"what it says counts":            {given: []management.Deployment{of("a", d4+",kubernetes.io/arch=arm64"), of("b", d8)}, asks: in("kubernetes.io/arch", "amd64"), want: "b"},
		"one that is full is left out":   {given: []management.Deployment{of("a", d4, management.AnnotationMaxSize, "2"), of("b", d8)}, want: "b"},
		"one that may grow is taken":     {given: []management.Deployment{of("a", d4, management.AnnotationMaxSize, "3"), of("b", d8)}, want: "a"},
		"one that is paused is left out": {given: []management.Deployment{of("a", d4, management.AnnotationPaused, ""), of("b", d8)}, want: "b"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &survey{cluster: &management.Cluster{}, deployments: one.given}
			var err error
			s.holders, err = holdersOf(s)
			require.NoError(t, err)
			got, why := s.choose(&api.NodeLaunch{Pool: "workers", InstanceTypes: []string{"d4", "d8"}, Types: one.types, Requirements: one.asks})
			require.NotNil(t, got, why)
			require.Equal(t, one.want, got.Name)
		})
	}
}

// That there is no such machine is said with what each MachineDeployment lacks, once and for all.
func TestALaunchThatNothingCanMakeFails(t *testing.T) {
	w := newWorld(t, plain)
	require.Equal(t, "no MachineDeployment of Cluster fleet/berlin has the label karpenter.sh/nodepool=workers, by which it makes nodes of the NodePool", w.answered(launch).Failed)

	s := &survey{cluster: &management.Cluster{}, deployments: []management.Deployment{
		of("other", "node.kubernetes.io/instance-type=d2"), of("silent", ""), of("full", d4, management.AnnotationMaxSize, "2"),
		of("odd", d4, management.AnnotationMaxSize, "many"), of("unzoned", "node.kubernetes.io/instance-type=d4"), of("elsewhere", "node.kubernetes.io/instance-type=d4,topology.kubernetes.io/zone=z-c"),
	}}
	var err error
	s.holders, err = holdersOf(s)
	require.NoError(t, err)
	l := launch
	l.InstanceTypes = []string{"d4", "d8", "d16", "d32", "d64"}
	l.Requirements = []api.NodeRequirement{{Key: "topology.kubernetes.io/zone", Operator: "In", Values: []string{"z-a", "z-b"}}}
	got, why := s.choose(&l)
	require.Nil(t, got)
	require.Equal(t, "no MachineDeployment of NodePool workers can make it: "+
		"elsewhere: topology.kubernetes.io/zone is z-c, expected topology.kubernetes.io/zone in (z-a,z-b); "+
		"full: it has 2 machines, and at most 2 by its annotation cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size; "+
		`odd: its annotation cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size is "many", expected a number; `+
		"other: its instance type is d2, expected one of d4, d8, d16 and 2 more; "+
		"silent: it does not say node.kubernetes.io/instance-type, which its annotation capacity.cluster-autoscaler.kubernetes.io/labels is for; "+
		"unzoned: it does not say topology.kubernetes.io/zone, which its failure domain would be", why)
}
