package contract

import (
	"fmt"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/agent/target"
	"flotilla/core/api"
	"flotilla/core/apply"
)

// removal is what the agent deletes of an object that it saw.
func (s *suite) removal(live *unstructured.Unstructured) target.Removal {
	return target.Removal{
		ObjectRef: apply.RefOf(live), UID: string(live.GetUID()), Version: live.GetResourceVersion(), Origin: target.Origin{Owner: s.owner.String()},
	}
}

// owned lists the names of what an owner has.
func (s *suite) owned(at target.Target) []string {
	s.Helper()
	objects, err := at.Owned(s.Context(), s.owner.String())
	require.NoError(s, err)
	var names []string
	for _, object := range objects {
		names = append(names, object.GetName())
	}
	return names
}

// removalCases are about what is deleted, what is remembered, and what becomes available.
var removalCases = map[string]func(*suite){
	"prune/what is deleted is gone, and again is no error": func(s *suite) {
		live := s.applied(s.config("web", nil))
		require.NoError(s, s.Target().Delete(s.Context(), s.removal(live)))
		s.until(func() error { return s.gone(apply.RefOf(live)) })
		require.NoError(s, s.Target().Delete(s.Context(), s.removal(live)))
	},
	"prune/an object of another uid stays": func(s *suite) {
		live := s.applied(s.config("web", nil))
		r := s.removal(live)
		r.UID, r.Version = "another", ""
		require.True(s, apierrors.IsConflict(s.Target().Delete(s.Context(), r)))
		s.get(apply.RefOf(live))
	},
	"prune/what changed meanwhile and is still the owner's goes": func(s *suite) {
		live := s.applied(s.config("web", map[string]any{"a": "1"}))
		s.Edit(apply.RefOf(live), set("theirs", "data", "a"))
		require.NoError(s, s.Target().Delete(s.Context(), s.removal(live)))
		s.until(func() error { return s.gone(apply.RefOf(live)) })
	},
	"prune/what another owner has by now stays": func(s *suite) {
		live := s.applied(s.config("web", map[string]any{"a": "1"}))
		s.Edit(apply.RefOf(live), set("another/uid", "metadata", "annotations", api.AnnotationOwner))
		require.True(s, apierrors.IsConflict(s.Target().Delete(s.Context(), s.removal(live))))
		s.get(apply.RefOf(live))
	},
	"prune/a namespace takes what is in it along": func(s *suite) {
		name := s.ns + "-own"
		live := s.applied(s.parse("{apiVersion: v1, kind: Namespace, metadata: {name: " + name + "}}"))
		inside := s.config("web", nil)
		inside.SetNamespace(name)
		_, err := s.Target().Apply(s.Context(), s.write(inside, "d1"))
		require.NoError(s, err)
		require.NoError(s, s.Target().Delete(s.Context(), s.removal(live)))
		s.until(func() error { return s.gone(apply.RefOf(inside)) })
		s.until(func() error { return s.gone(apply.RefOf(live)) })
	},
	"prune/what is let go of stays as it is, and is nobody's": func(s *suite) {
		object := s.config("web", map[string]any{"a": "1"})
		object.SetAnnotations(map[string]string{"mine": "yes"})
		live := s.applied(object)
		plan := apply.Withdraw(s.owner, []*unstructured.Unstructured{live}, true)
		op := plan.Waves[0][0]
		require.Equal(s, apply.Disown, op.Verb)
		left, err := s.Target().Apply(s.Context(), target.Write{
			Object: op.Object, UID: op.UID, Disown: true, Origin: target.Origin{Owner: s.owner.String()},
		})
		require.NoError(s, err)
		require.Equal(s, map[string]string{"mine": "yes"}, left.GetAnnotations())
		require.Equal(s, live.Object["data"], left.Object["data"])
		require.Empty(s, left.GetManagedFields(), "nobody owns its fields")
		s.until(func() error { // a target that watches may see it later
			if owned := s.owned(s.Target()); len(owned) > 0 {
				return fmt.Errorf("found %v, expected none", owned)
			}
			return nil
		})
	},
	"inventory/what is owned is listed, what is not is not": func(s *suite) {
		mine, theirs, other := s.config("mine", nil), s.config("theirs", nil), s.config("other", nil)
		s.applied(mine)
		s.Make(theirs)
		s.intend(apply.RefOf(mine), apply.RefOf(theirs), apply.RefOf(other))
		require.Equal(s, []string{"mine"}, s.owned(s.Target()))
		owners, err := s.Target().Owners(s.Context())
		require.NoError(s, err)
		require.Contains(s, owners, s.owner.String())
	},
	"inventory/an agent that lost its disk forgets nothing": func(s *suite) {
		s.applied(s.config("web", nil))
		next := s.Restart()
		owners, err := next.Owners(s.Context())
		require.NoError(s, err)
		require.Contains(s, owners, s.owner.String())
		require.Equal(s, []string{"web"}, s.owned(next))
	},
	"inventory/an owner without objects is forgotten": func(s *suite) {
		live := s.applied(s.config("web", nil))
		require.NoError(s, s.Target().Delete(s.Context(), s.removal(live)))
		s.until(func() error { return s.gone(apply.RefOf(live)) })
		s.intend()
		for _, at := range []target.Target{s.Target(), s.Restart()} {
			owners, err := at.Owners(s.Context())
			require.NoError(s, err)
			require.NotContains(s, owners, s.owner.String())
		}
	},
	"availability/a Deployment becomes available by its controllers": func(s *suite) {
		live := s.applied(s.parse(workloads[0]))
		s.until(func() error {
			readiness, message := apply.Ready(s.get(apply.RefOf(live)))
			if readiness != apply.Available {
				return fmt.Errorf("%s: %s", readiness, message)
			}
			return nil
		})
	},
	"availability/a Service has an address": func(s *suite) {
		live := s.applied(s.parse(workloads[1]))
		s.until(func() error {
			if readiness, message := apply.Ready(s.get(apply.RefOf(live))); readiness != apply.Available {
				return fmt.Errorf("%s: %s", readiness, message)
			}
			return nil
		})
	},
	"availability/a StatefulSet becomes available by its controllers": func(s *suite) {
		live := s.applied(s.parse(`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: NS}, spec: {replicas: 2, serviceName: db,
  selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}, spec: {containers: [{name: db, image: "registry.example/db:v1"}]}}}}`))
		s.until(func() error {
			if readiness, message := apply.Ready(s.get(apply.RefOf(live))); readiness != apply.Available {
				return fmt.Errorf("%s: %s", readiness, message)
			}
			return nil
		})
		s.until(func() error {
			pods, err := s.Target().PodsOf(s.Context(), s.get(apply.RefOf(live)))
			if err == nil && len(pods) != 2 {
				err = fmt.Errorf("found %d pods", len(pods))
			}
			return err
		})
	},
}
