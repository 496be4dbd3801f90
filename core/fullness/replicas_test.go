package fullness

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// on are the replicas of a stream on three servers, of which some are away.
func on(stream string, away ...string) Stream {
	s := Stream{Name: stream}
	for _, server := range []string{"n0", "n1", "n2"} {
		r := Replica{Server: server, Current: true}
		for _, name := range away {
			r.Current = r.Current && name != server
		}
		s.Replicas = append(s.Replicas, r)
	}
	return s
}

// A server is told of once it is away for longer than a restart takes, once, and when it is back.
func TestAServerThatIsAwayIsToldOfOnce(t *testing.T) {
	var away []Away
	var told []string
	look := func(after time.Duration, streams ...Stream) {
		at := noon.Add(after)
		next, events := JudgeReplicas(away, streams, at)
		away = next
		for _, e := range events {
			require.True(t, e.At.Time.Equal(at))
			told = append(told, e.Type+" "+e.Object+" "+e.Reason+": "+e.Message)
		}
	}
	look(0, on("a", "n1"), on("b"))
	look(patience-time.Second, on("a"), on("b"))
	require.Empty(t, away, "it was restarted")
	look(time.Minute, on("a", "n1"), on("b", "n1"), on("c", "n1", "n2"))
	look(time.Minute+patience, on("a", "n1"), on("b", "n1"), on("c", "n1", "n2"))
	look(2*time.Minute, on("a", "n1"), on("b", "n1"), on("c"))
	require.Len(t, away, 1)
	require.Equal(t, noon.Add(time.Minute), away[0].Since)
	require.Equal(t, "it keeps no current replica of 2 streams, 2 of 3 are left: if another server goes, nothing is stored", away[0].Text())
	look(3*time.Minute, on("a"), on("b"), on("c"))
	require.Empty(t, away)
	require.Equal(t, []string{
		"Warning server/n1 ReplicasAway: it keeps no current replica of 3 streams, 1 of 3 are left: nothing is stored until it is back",
		"Warning server/n2 ReplicasAway: it keeps no current replica of 1 stream, 1 of 3 are left: nothing is stored until it is back",
		"Normal server/n2 ReplicasBack: it keeps all of its replicas again",
		"Normal server/n1 ReplicasBack: it keeps all of its replicas again",
	}, told)
}

// Who is away stays so while nobody answers, and is not back because no replica is on it any more.
func TestAServerThatNobodySpeaksOf(t *testing.T) {
	away := []Away{{Server: "n1", Since: noon, Told: true, Streams: 1, Left: 2, Of: 3}}
	after, events := JudgeReplicas(away, []Stream{{Name: "a"}}, noon)
	require.Equal(t, away, after)
	require.Empty(t, events)
	one := on("a")
	one.Replicas = one.Replicas[:1]
	after, events = JudgeReplicas(away, []Stream{one}, noon)
	require.Empty(t, after)
	require.Equal(t, "no stream is to have a replica on it any more", events[0].Message)
}

func TestHowManyReplicasMayGo(t *testing.T) {
	for text, a := range map[string]Away{
		"it keeps no current replica of 1 stream, 4 of 5 are left":                                            {Streams: 1, Left: 4, Of: 5},
		"it keeps no current replica of 1 stream, 3 of 5 are left: if another server goes, nothing is stored": {Streams: 1, Left: 3, Of: 5},
		"it keeps no current replica of 1 stream, 2 of 5 are left: nothing is stored until it is back":        {Streams: 1, Left: 2, Of: 5},
	} {
		require.Equal(t, text, a.Text())
	}
}
