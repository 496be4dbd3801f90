package nodes

import (
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
)

// What a node carries by which drift is told, once it was looked after.
func TestAdopting(t *testing.T) {
	hashes := func(pool, hash, class string) map[string]string {
		return map[string]string{
			api.AnnotationPoolHash: hash, api.AnnotationPoolHashLevel: capacity.PoolHashLevel, api.AnnotationStampedPool: pool, api.AnnotationClassHash: class,
		}
	}
	with := func(base map[string]string, key, value string) map[string]string {
		out := maps.Clone(base)
		out[key] = value
		return out
	}
	const labels = `{"kubelet":"says","topology.kubernetes.io/zone":"z-c"}`
	karpenters := map[string]string{api.AnnotationPoolHash: "123", api.AnnotationPoolHashLevel: "v3"}
	told := care{stamps: map[string]api.PoolStamp{"general": {Pool: "general", Hash: "h2", ClassHash: "c2"}}}
	leaving := told
	leaving.leaving, leaving.commanded = true, true
	claimed := told
	claimed.claimed = true
	for name, row := range map[string]struct {
		carries map[string]string
		change  func(*corev1.Node)
		care    care
		want    map[string]string
	}{
		"first seen":             {nil, nil, told, with(hashes("general", "h2", "c2"), api.AnnotationOriginLabels, labels)},
		"nothing told yet":       {nil, nil, care{}, map[string]string{api.AnnotationOriginLabels: labels}},
		"seen before":            {with(hashes("general", "h1", "c1"), api.AnnotationOriginLabels, "{}"), nil, told, with(hashes("general", "h1", "c1"), api.AnnotationOriginLabels, "{}")},
		"given to another pool":  {with(hashes("other", "h1", "c1"), api.AnnotationOriginLabels, "{}"), nil, told, with(hashes("general", "h2", "c2"), api.AnnotationOriginLabels, "{}")},
		"Karpenter's hash":       {karpenters, nil, told, karpenters},
		"a claim of Karpenter's": {nil, nil, claimed, nil},
		"not up":                 {nil, func(n *corev1.Node) { n.Status.Conditions = nil }, told, nil},
		"Karpenter's node":       {nil, func(n *corev1.Node) { n.Finalizers = []string{api.FinalizerKarpenter} }, told, nil},
		"leaving":                {with(hashes("general", "h1", "c1"), api.AnnotationOriginLabels, "{}"), nil, leaving, map[string]string{}},
		"leaving, Karpenter's":   {karpenters, nil, leaving, karpenters},
		"launched, leaving":      {with(with(hashes("general", "h1", "c1"), api.AnnotationOriginLabels, "{}"), api.AnnotationLaunch, "d1-0"), nil, leaving, with(with(hashes("general", "h1", "c1"), api.AnnotationOriginLabels, "{}"), api.AnnotationLaunch, "d1-0")},
	} {
		t.Run(name, func(t *testing.T) {
			n := fresh()
			n.Spec.Taints, n.Labels[api.LabelNodePool], n.Annotations = nil, "general", row.carries
			if row.change != nil {
				row.change(n)
			}
			row.care.mark(n)
			require.Equal(t, row.want, n.Annotations)
			require.True(t, row.care.marked(n), "marking again changes nothing")
		})
	}
}

// The agent stamps what the hub asks for, and tells it: of an edited label what it was, of a node that
// Karpenter finds drifted for what reason, for as long as it does.
func TestAdoptedNodesAreTold(t *testing.T) {
	t.Parallel()
	s := newScene(t, "n1")
	s.start()
	s.commandAt(api.Order{Epoch: 1, Term: 1, Generation: 1}, func(c *api.DisruptionCommand) {
		c.Stamps = []api.PoolStamp{{Pool: "general", Hash: "h1"}, {Pool: "other", Hash: "h2"}}
	})
	s.expectNode("n1", func(n *corev1.Node) bool {
		return n.Annotations[api.AnnotationPoolHash] == "h1" && n.Annotations[api.AnnotationStampedPool] == "general" && n.Annotations[api.AnnotationOriginLabels] != ""
	})
	told := func(holds func(*api.NodeState) bool) {
		t.Helper()
		s.eventually(func() error {
			e, err := s.agent.nodes.o.Hub.NodeEvent(t.Context(), "n1")
			if err == nil && !holds(&e.Node) {
				err = fmt.Errorf("the hub was told %+v with origin %+v", e.Node, e.Node.Origin)
			}
			return err
		})
	}
	told(func(n *api.NodeState) bool {
		return n.Annotations[api.AnnotationPoolHash] == "h1" && n.Origin == nil && n.ProviderDrift == ""
	})
	edit := func(n *corev1.Node) { n.Labels[corev1.LabelTopologyZone] = "z-x" }
	require.NoError(t, s.member.UpdateNode(t.Context(), "n1", edit))
	told(func(n *api.NodeState) bool {
		return n.Labels[corev1.LabelTopologyZone] == "z-x" && n.Origin != nil && n.Origin.Labels[corev1.LabelTopologyZone] == "z-a" && !n.Origin.Whole
	})

	s.fault("drifted=n1:ImageDrifted")
	told(func(n *api.NodeState) bool {
		return n.ProviderDrift == "ImageDrifted" && n.DriftedSince != metav1.Time{} && n.Origin.Whole
	})
	s.fault()
	told(func(n *api.NodeState) bool { return n.ProviderDrift == "" && n.DriftedSince.IsZero() })
}
