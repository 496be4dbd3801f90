package crowds

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/content"
)

// placementOf looks at each object of a kind that lies in no namespace with so many requirements.
func placementOf(kind string, requirements int) *api.Placement {
	s := api.ResourceSelector{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: kind, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{}}}
	for i := range requirements {
		s.LabelSelector.MatchLabels[fmt.Sprint("l", i)] = "x"
	}
	p := &api.Placement{}
	p.Spec.ResourceSelectors = []api.ResourceSelector{s}
	return p
}

// Placements look at all objects no more often than a hub that takes over has time for, though they look at none of a kind too often
// (H48).
func TestLooksAreBoundedInAll(t *testing.T) {
	head := func(kind string, i int) api.Spec {
		return api.Spec{Object: api.ObjectRef{APIVersion: "rbac.authorization.k8s.io/v1", Kind: kind, Name: fmt.Sprint(i)}}
	}
	stored := content.NewIndex()
	for i := range 10 {
		stored.Set(head("ClusterRole", i))
		stored.Set(head("ClusterRoleBinding", i))
	}
	roles, bindings := placementOf("ClusterRole", 3), placementOf("ClusterRoleBinding", 3)
	l := &Looks{most: 40, mostInAll: 60, of: map[string]map[content.Ground]int{}, sum: map[content.Ground]int{}}
	for name, p := range map[string]*api.Placement{"roles": roles, "bindings": bindings} {
		l.of[name] = content.Looks(p.Spec.ResourceSelectors, "")
		plus(l.sum, l.of[name], 1)
	}
	more := func(i int) *content.Index {
		index := stored.Clone()
		index.Set(head("ClusterRole", i))
		return index
	}
	for _, c := range []struct {
		name    string
		index   *content.Index
		written map[string]*api.Placement
		looked  int
		refused string
	}{
		{name: "nothing", index: stored.Clone()},
		{name: "one that is there", index: more(9)},
		{name: "one more", index: more(10), refused: "look at objects of all kinds, of which most are ClusterRole.rbac.authorization.k8s.io, 63 times, 3 times more than now, at most 60, "},
		{
			name: "one that looks at them", index: stored.Clone(), written: map[string]*api.Placement{"new": placementOf("ClusterRoleBinding", 1)}, looked: 10,
			refused: "look at objects of all kinds, of which most are ClusterRoleBinding.rbac.authorization.k8s.io, 70 times, 10 times more than now, at most 60, ",
		},
		{
			name: "one that looks at too many of a kind", index: stored.Clone(), written: map[string]*api.Placement{"new": placementOf("ClusterRole", 2)}, looked: 20,
			refused: "look at ClusterRole.rbac.authorization.k8s.io 50 times, 20 times more than now, at most 40, ",
		},
		{name: "one that looks elsewhere", index: stored.Clone(), written: map[string]*api.Placement{"new": placementOf("Role", 1)}},
		{name: "the same", index: stored.Clone(), written: map[string]*api.Placement{"roles": roles}},
		{name: "the same twice", index: stored.Clone(), written: map[string]*api.Placement{"roles": roles, "bindings": bindings}, looked: 60},
		{name: "one in the place of another", index: stored.Clone(), written: map[string]*api.Placement{"roles": nil, "new": placementOf("ClusterRoleBinding", 1)}, looked: 10},
		{name: "a placement goes, and an object comes", index: more(10), written: map[string]*api.Placement{"bindings": nil}},
	} {
		looked, err := l.Check(c.index, c.written)
		require.Equal(t, c.looked, looked, c.name)
		if c.refused == "" {
			require.NoError(t, err, c.name)
			continue
		}
		failure := &api.Failure{}
		require.ErrorAs(t, err, &failure, c.name)
		require.Equal(t, api.CodeTooLarge, failure.Code)
		require.Contains(t, failure.Message, c.refused, c.name)
	}
}
