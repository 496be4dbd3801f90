package contract

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/agent/target"
)

// long is a grace that does not end while a case runs.
const long = 600

func init() {
	addNodes(map[string]func(*nodeSuite){
		"graces/one that is evicted has its own": func(s *nodeSuite) {
			pod := s.lingers(s.joins(), long)
			require.NoError(s, s.Target().Evict(s.Context(), pod))
			first := s.ending(long)
			require.NoError(s, s.Target().Evict(s.Context(), pod), "it is on its way")
			require.Equal(s, first, s.ending(long))
			s.hurry(pod)
		},
		"graces/one that is deleted with none named has its own": func(s *nodeSuite) {
			pod := s.lingers(s.joins(), long)
			require.NoError(s, s.Target().DeletePod(s.Context(), pod, -1))
			s.ending(long)
			s.hurry(pod)
		},
		"graces/one is shortened, and never extended": func(s *nodeSuite) {
			pod := s.lingers(s.joins(), long)
			require.NoError(s, s.Target().DeletePod(s.Context(), pod, long*time.Second))
			first := s.ending(long)
			require.NoError(s, s.Target().DeletePod(s.Context(), pod, long/2*time.Second))
			second := s.ending(long / 2)
			require.True(s, second.Before(first), "from %s to %s", first, second)
			require.NoError(s, s.Target().DeletePod(s.Context(), pod, long*time.Second))
			require.NoError(s, s.Target().Evict(s.Context(), pod))
			require.Equal(s, second, s.ending(long/2))
			s.hurry(pod)
		},
		"graces/what is no whole second is rounded up": func(s *nodeSuite) {
			pod := s.lingers(s.joins(), long)
			require.NoError(s, s.Target().DeletePod(s.Context(), pod, (long/2)*time.Second-time.Millisecond))
			s.ending(long / 2)
			s.hurry(pod)
		},
		"graces/one that ends is there until its grace is over": func(s *nodeSuite) {
			pod := s.lingers(s.joins(), 2)
			require.NoError(s, s.Target().Evict(s.Context(), pod))
			began := s.ending(2)
			s.ends("web")
			require.False(s, began.IsZero())
		},
	})
}

// lingers is runs for pod web that takes all of its grace, in seconds, to end.
func (s *nodeSuite) lingers(node string, grace int) target.PodRef {
	s.Helper()
	return s.put("web", node, "registry.example/web:lingers", grace)
}

// ending waits until that pod is being deleted with a grace, in seconds, and returns when it is to be gone.
func (s *nodeSuite) ending(grace int64) time.Time {
	s.Helper()
	var at time.Time
	s.until(func() error {
		p, err := s.pod("web")
		if err != nil {
			return err
		}
		if p.DeletionTimestamp == nil || p.DeletionGracePeriodSeconds == nil || *p.DeletionGracePeriodSeconds != grace {
			return fmt.Errorf("the pod is %+v, expected a grace of %d s", p.ObjectMeta, grace)
		}
		at = p.DeletionTimestamp.Time
		return nil
	})
	return at
}

// hurry ends a pod at once.
func (s *nodeSuite) hurry(pod target.PodRef) {
	s.Helper()
	require.NoError(s, s.Target().DeletePod(s.Context(), pod, 0))
	s.ends(pod.Name)
}
