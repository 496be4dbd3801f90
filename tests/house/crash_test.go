package house

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/agent/target/memory/faults"
	"flotilla/bus/bustest"
	"flotilla/core/api"
)

var four = []string{"berlin", "lima", "oslo", "paris"}

// The hub is killed while a rollout is half way. The next process on the same data finishes it: every
// member gets the new content once, in the order of the rollout.
func TestHubIsKilledInTheMiddleOfARollout(t *testing.T) {
	t.Parallel()
	h := newHouse(t, four...)
	h.apply(t, content("shop", "one")+pickAll("shop"))
	h.converged(t, "shop", 4)

	h.members["oslo"].SetFaults(faults.Faults{Slow: 300 * time.Millisecond})
	h.apply(t, content("shop", "two"))
	bustest.EventuallyIn(t, patience, func() error { return holds(h.members["berlin"], "shop", "two") })
	h.hub.Kill()
	require.Error(t, holds(h.members["paris"], "shop", "two"), "the rollout was over before the kill")
	h.hub.Start(t)

	h.converged(t, "shop", 4)
	for _, name := range four {
		require.NoError(t, holds(h.members[name], "shop", "two"))
		requireCleanHistory(t, h.members[name])
	}
}

// Whatever was acknowledged before a kill is there after it: objects, their generations, and what they
// make members hold.
func TestNothingAcceptedIsLost(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "berlin", "paris")
	accepted := map[string]api.ApplyResult{}
	for i := range 10 {
		name := fmt.Sprintf("app-%d", i)
		for _, result := range h.apply(t, content(name, "one")+pickAll(name)).Results {
			accepted[result.Object.String()] = result
		}
		if i%4 == 3 {
			h.hub.Kill()
			h.hub.Start(t)
		}
	}
	for i := range 10 {
		h.converged(t, fmt.Sprintf("app-%d", i), 2)
	}
	for _, want := range accepted {
		var got struct {
			Metadata struct {
				UID        string
				Generation int64
			}
		}
		require.NoError(t, h.request(t, api.VerbGet, api.GetRequest{APIVersion: want.Object.APIVersion, Kind: want.Object.Kind, Namespace: want.Object.Namespace, Name: want.Object.Name}, &got), want.Object.String())
		require.Equal(t, want.UID, got.Metadata.UID, want.Object.String())
		require.Equal(t, want.Generation, got.Metadata.Generation, want.Object.String())
	}
	requireCleanHistory(t, h.members["berlin"])
	requireCleanHistory(t, h.members["paris"])
}

// An agent that was away takes up what changed meanwhile, and only the last of it.
func TestAgentIsAwayWhileThingsChange(t *testing.T) {
	h := newHouse(t, "berlin", "paris")
	both := strings.Replace(pickAll("shop"), "maxUnavailable: 1", "maxUnavailable: 2", 1) // berlin does not wait for paris
	h.apply(t, content("shop", "one")+both+"---"+content("old", "one")+pickAll("old"))
	h.converged(t, "shop", 2)
	h.converged(t, "old", 2)

	h.stopAgent(t, "paris")
	seen := len(h.members["paris"].History(0))
	h.apply(t, content("shop", "two"))
	h.apply(t, content("shop", "three")+"---"+content("new", "one")+pickAll("new"))
	require.NoError(t, h.request(t, api.VerbDelete, api.DeleteRequest{Request: "away", Object: api.ObjectRef{
		APIVersion: "placement.kubernetes-fleet.io/v1", Kind: api.KindClusterResourcePlacement, Name: "old",
	}}, nil))
	bustest.EventuallyIn(t, patience, func() error { return holds(h.members["berlin"], "shop", "three") })
	require.Len(t, h.members["paris"].History(0), seen, "nobody writes to a member without its agent")

	h.startAgent(t, "paris")
	h.converged(t, "shop", 2)
	h.converged(t, "new", 2)
	bustest.EventuallyIn(t, patience, func() error {
		if live(h.members["paris"], "ConfigMap", "old") != nil {
			return errors.New("paris still holds what was deleted while its agent was away")
		}
		return nil
	})
	requireCleanHistory(t, h.members["paris"])
	for _, op := range h.members["paris"].History(int64(seen)) {
		require.NotEqual(t, "two", op.Digest)
	}
}

// An agent that starts while the hub is away works from its disk: it repairs what a stranger broke and
// tears nothing down.
func TestAgentRestartsWithTheHubAway(t *testing.T) {
	h := newHouse(t, "berlin")
	h.apply(t, content("shop", "one")+pickAll("shop"))
	h.converged(t, "shop", 1)

	h.stopAgent(t, "berlin")
	h.hub.Kill()
	require.True(t, h.members["berlin"].Remove(api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "shop"}))
	h.startAgentWith(t, "berlin", nil)
	bustest.EventuallyIn(t, patience, func() error { return holds(h.members["berlin"], "shop", "one") })
	require.NotNil(t, live(h.members["berlin"], "Namespace", "shop"))

	h.hub.Start(t)
	h.converged(t, "shop", 1)
}

// An agent whose command is gone from the hub keeps what runs. A hub that knows nothing of its keys gives it nothing
// more before it is enrolled anew.
func TestMissingIndexTearsNothingDown(t *testing.T) {
	h := newHouse(t, "berlin")
	h.apply(t, content("shop", "one")+pickAll("shop"))
	h.converged(t, "shop", 1)
	h.stopAgent(t, "berlin")
	h.hub.Kill()
	before := len(h.members["berlin"].History(0))

	require.NoError(t, os.Rename(filepath.Join(h.dir, "hub"), filepath.Join(h.dir, "gone")))
	require.NoError(t, os.Mkdir(filepath.Join(h.dir, "hub"), 0o700))
	keepKeys(t, filepath.Join(h.dir, "gone"), filepath.Join(h.dir, "hub"))
	h.hub.Start(t)
	h.connect(t)
	h.startAgentWith(t, "berlin", nil)
	h.apply(t, "apiVersion: cluster.kubernetes-fleet.io/v1\nkind: MemberCluster\nmetadata: {name: berlin}\n")
	h.memberIs(t, "berlin", func(status *api.MemberClusterStatus) bool { return status.State == api.MemberReady })
	require.NoError(t, holds(h.members["berlin"], "shop", "one"))
	require.Len(t, h.members["berlin"].History(0), before, "an empty hub made the agent write")
	h.stopAgent(t, "berlin")
	h.startAgentWith(t, "berlin", h.newToken(t, "berlin"))

	h.apply(t, content("other", "one")+pickAll("other"))
	h.converged(t, "other", 1)
	h.memberIs(t, "berlin", func(status *api.MemberClusterStatus) bool { return slices.Equal(status.Unlisted, []string{"shop"}) })
	require.NoError(t, holds(h.members["berlin"], "shop", "one"))
}

// memberIs waits for the status of a member.
func (h *house) memberIs(t *testing.T, name string, as func(*api.MemberClusterStatus) bool) {
	t.Helper()
	bustest.EventuallyIn(t, patience, func() error {
		var m api.MemberCluster
		if err := h.request(t, api.VerbGet, api.GetRequest{Kind: api.KindMemberCluster, Name: name}, &m); err != nil {
			return err
		}
		if m.Status == nil || !as(m.Status) {
			return fmt.Errorf("%s is %+v", name, m.Status)
		}
		return nil
	})
}

// keepKeys copies the keys of the embedded server's accounts, and no stream.
func keepKeys(t *testing.T, from, to string) {
	t.Helper()
	bustest.CopyFolder(t, to, from)
	require.NoError(t, os.RemoveAll(filepath.Join(to, "streams")))
}
