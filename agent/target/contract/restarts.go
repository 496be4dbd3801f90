package contract

import (
	"fmt"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
	"flotilla/core/apply"
)

// restartCases are about what the next process of an agent finds, which knows nothing but what the member remembers.
var restartCases = map[string]func(*suite){
	"restart/what an earlier process wrote is written on": func(s *suite) {
		live := s.applied(s.config("web", map[string]any{"a": "1", "b": "2"}))
		next, err := s.Restart().Apply(s.Context(), over(s.write(s.config("web", map[string]any{"a": "3"}), "d2"), live))
		require.NoError(s, err, "no conflict with itself")
		require.Equal(s, map[string]any{"a": "3"}, next.Object["data"])
		require.Equal(s, live.GetUID(), next.GetUID())
	},
	"restart/what changed meanwhile is found": func(s *suite) {
		object := s.config("web", map[string]any{"a": "1"})
		live := s.applied(object)
		s.Edit(apply.RefOf(live), set("theirs", "data", "a"))
		owned, err := s.Restart().Owned(s.Context(), s.owner.String())
		require.NoError(s, err)
		m := apply.Manifest{Manifest: api.Manifest{ObjectRef: apply.RefOf(object), Digest: "d1"}, Object: object}
		plan := apply.Diff(apply.Wanted{Owner: s.owner, Manifests: []apply.Manifest{m}}, owned)
		require.Contains(s, fmt.Sprint(plan.Suspects, plan.String()), "ConfigMap")
		require.NotContains(s, plan.String(), "keep")
	},
	"restart/what was deleted meanwhile is not owned, and is made again": func(s *suite) {
		object := s.config("web", map[string]any{"a": "1"})
		live := s.applied(object)
		s.Remove(apply.RefOf(live))
		s.until(func() error { return s.gone(apply.RefOf(live)) })
		next := s.Restart()
		require.Empty(s, s.owned(next))
		made, err := next.Apply(s.Context(), s.write(object, "d1"))
		require.NoError(s, err)
		require.NotEqual(s, live.GetUID(), made.GetUID())
		require.Equal(s, []string{"web"}, s.owned(next))
	},
	"restart/what an earlier process wrote is removed": func(s *suite) {
		live := s.applied(s.config("web", nil))
		next := s.Restart()
		require.NoError(s, next.Delete(s.Context(), s.removal(live)))
		s.until(func() error { return s.gone(apply.RefOf(live)) })
		require.Empty(s, s.owned(next))
	},
	"restart/the inventory is that of the last time": func(s *suite) {
		first, second := s.applied(s.config("first", nil)), s.config("second", nil)
		s.intend(apply.RefOf(first), apply.RefOf(second))
		_, err := s.Target().Apply(s.Context(), s.write(second, "d1"))
		require.NoError(s, err)
		require.NoError(s, s.Target().Delete(s.Context(), s.removal(first)))
		s.until(func() error { return s.gone(apply.RefOf(first)) })
		s.intend(apply.RefOf(second))
		require.Equal(s, []string{"second"}, s.owned(s.Restart()))
	},
	"restart/owners do not mix": func(s *suite) {
		s.applied(s.config("mine", nil))
		other := apply.Owner{Placement: s.ns + "-other", UID: "uid"}
		theirs := s.config("theirs", nil)
		require.NoError(s, s.Target().Intend(s.Context(), other.String(), []api.ObjectRef{apply.RefOf(theirs)}))
		mine := s.owner
		s.owner = other
		_, err := s.Target().Apply(s.Context(), s.write(theirs, "d1"))
		require.NoError(s, err)
		next := s.Restart()
		require.Equal(s, []string{"theirs"}, s.owned(next))
		s.owner = mine
		require.Equal(s, []string{"mine"}, s.owned(next))
		require.NoError(s, s.Target().Intend(s.Context(), other.String(), nil))
	},
	"restart/a change is told to the next process too": func(s *suite) {
		live := s.applied(s.config("web", map[string]any{"a": "1"}))
		next := s.Restart()
		require.Equal(s, []string{"web"}, s.owned(next))
		told := s.watching(next)
		s.Edit(apply.RefOf(live), func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"theirs": "yes"}) })
		told()
	},
}
