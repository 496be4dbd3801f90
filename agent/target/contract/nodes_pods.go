package contract

import (
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"flotilla/agent/target"
)

func init() {
	addNodes(map[string]func(*nodeSuite){
		"pods/one that is evicted ends": func(s *nodeSuite) {
			pod := s.runs("web", s.joins())
			require.NoError(s, s.Target().Evict(s.Context(), pod))
			s.ends("web")
		},
		"pods/one that ends already is evicted for the asking": func(s *nodeSuite) {
			pod := s.runs("web", s.joins())
			require.NoError(s, s.Target().DeletePod(s.Context(), pod, -1))
			if err := s.Target().Evict(s.Context(), pod); !apierrors.IsNotFound(err) {
				require.NoError(s, err)
			}
			s.ends("web")
		},
		"pods/one that is not there is not found": func(s *nodeSuite) {
			none := target.PodRef{Namespace: s.ns, Name: "none"}
			require.True(s, apierrors.IsNotFound(s.Target().Evict(s.Context(), none)))
			require.True(s, apierrors.IsNotFound(s.Target().DeletePod(s.Context(), none, 0)))
		},
		"pods/another of the same name stays": func(s *nodeSuite) {
			pod := s.runs("web", s.joins())
			other := target.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: "another"}
			require.True(s, apierrors.IsConflict(s.Target().Evict(s.Context(), other)))
			require.True(s, apierrors.IsConflict(s.Target().DeletePod(s.Context(), other, 0)))
			p, err := s.pod("web")
			require.NoError(s, err)
			require.Nil(s, p.DeletionTimestamp)
		},
		"pods/a budget with nothing left keeps one, and lets it go when it has": func(s *nodeSuite) {
			pod := s.runs("web", s.joins())
			budget := s.protect("keeps", 1, 0)
			s.refuses(pod, "keeps")
			s.Uproot(budget)
			s.protect("spares", 0, 1)
			s.until(func() error { return s.Target().Evict(s.Context(), pod) })
			s.ends("web")
		},
		"pods/a budget that allows one lets one go": func(s *nodeSuite) {
			name := s.joins()
			first, second := s.runs("web-1", name), s.runs("web-2", name)
			s.protect("one", 1, 1)
			require.NoError(s, s.Target().Evict(s.Context(), first))
			s.refuses(second, "one")
			s.ends("web-1")
		},
		"pods/two budgets keep one, whatever they allow": func(s *nodeSuite) {
			pod := s.runs("web", s.joins())
			s.protect("left", 0, 1)
			s.protect("right", 0, 1)
			s.refuses(pod, "left", "right")
		},
		"pods/one is deleted whatever its budget says": func(s *nodeSuite) {
			pod := s.runs("web", s.joins())
			s.protect("keeps", 1, 0)
			require.NoError(s, s.Target().DeletePod(s.Context(), pod, 0))
			s.ends("web")
		},
		"pods/what becomes of one is told": func(s *nodeSuite) {
			pod := s.runs("web", s.joins())
			told := s.watch(func(c target.Change) bool { return c.Pods })
			require.NoError(s, s.Target().DeletePod(s.Context(), pod, 0))
			told()
		},
	})
}
