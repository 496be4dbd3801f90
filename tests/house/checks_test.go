package house

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
)

// judge is a webhook outside of the fleet: it lets what the hub asks about pass, or not.
type judge struct {
	passes func(snapshot int64, members int) bool
	asked  atomic.Int64
}

func (j *judge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	j.asked.Add(1)
	var asked struct {
		Snapshot int64
		Members  []string
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if !j.passes(asked.Snapshot, len(asked.Members)) {
		_, _ = w.Write([]byte(`{"pass": false, "message": "too many errors"}`))
		return
	}
	_, _ = w.Write([]byte(`{"pass": true}`))
}

// newCheckedHouse is a house whose hub knows a webhook as "judge".
func newCheckedHouse(t *testing.T, j *judge, members ...string) *house {
	t.Helper()
	outside := httptest.NewServer(j)
	t.Cleanup(outside.Close)
	config := filepath.Join(t.TempDir(), "hub.yaml")
	require.NoError(t, os.WriteFile(config, []byte("checks:\n  webhooks:\n  - {name: judge, url: "+outside.URL+"}\n"), 0o600))
	return newHouseWith(t, []string{"--config", config}, members...)
}

func rolloutCheck(onFailure string) string {
	return fmt.Sprintf(`
---
apiVersion: flotilla.io/v1alpha1
kind: RolloutCheck
metadata: {name: errors}
spec:
  soak: 1s
  interval: 1s
  failureLimit: 2
  onFailure: %s
  checks:
  - {name: available, availability: {within: 1m}}
  - {name: errors, webhook: {webhook: judge, arguments: {team: shop}}}
---
`, onFailure)
}

func checkedPickAll(name string) string {
	return strings.Replace(pickAll(name), "metadata: {name: "+name+"}", `metadata: {name: `+name+`, annotations: {flotilla.io/rollout-check: errors}}`, 1)
}

// A check that fails takes every member back that got the new content, also when the hub is killed on the way; what was
// refused is not tried again until the content changes.
func TestAFailingCheckRollsBack(t *testing.T) {
	t.Parallel()
	j := &judge{passes: func(snapshot int64, members int) bool { return snapshot != 2 || members < 2 }}
	h := newCheckedHouse(t, j, four...)
	h.apply(t, rolloutCheck("RollBack")+content("shop", "one")+checkedPickAll("shop"))
	h.converged(t, "shop", 4)
	h.apply(t, content("shop", "two"))
	h.told(t, "shop", "RolloutChecksFailed")
	h.hub.Kill()
	h.hub.Start(t)
	h.told(t, "shop", "RolloutRolledBack")
	h.hold(t, "shop", map[string]string{"berlin": "one", "lima": "one", "oslo": "one", "paris": "one"})
	asked := j.asked.Load()
	h.apply(t, content("other", "x")+pickAll("other"))
	h.converged(t, "other", 4)
	h.hold(t, "shop", map[string]string{"berlin": "one", "lima": "one", "oslo": "one", "paris": "one"})
	require.Equal(t, asked, j.asked.Load(), "what was refused is not asked about")

	h.apply(t, content("shop", "three"))
	h.converged(t, "shop", 4)
	h.hold(t, "shop", map[string]string{"berlin": "three", "lima": "three", "oslo": "three", "paris": "three"})
	h.told(t, "shop", "RolloutChecksPassed")
}

// told waits until an event of a placement was told.
func (h *house) told(t *testing.T, placement, reason string) {
	t.Helper()
	bustest.EventuallyIn(t, patience, func() error {
		out, code := h.flotilla(t, "events", "placement/"+placement)
		if code != 0 || !strings.Contains(out, reason) {
			return fmt.Errorf("no %s (exit %d):\n%s", reason, code, out)
		}
		return nil
	})
}

// Where nobody is to go back, a check that fails stops the rollout where it is, also over a kill of the hub, until a person has
// it tried again.
func TestAFailingCheckStops(t *testing.T) {
	t.Parallel()
	mended := atomic.Bool{}
	j := &judge{passes: func(snapshot int64, _ int) bool { return snapshot != 2 || mended.Load() }}
	h := newCheckedHouse(t, j, "berlin", "paris")
	h.apply(t, rolloutCheck("Stop")+content("shop", "one")+checkedPickAll("shop"))
	h.converged(t, "shop", 2)
	h.apply(t, content("shop", "two"))
	h.told(t, "shop", "RolloutChecksFailed")
	h.hub.Kill()
	h.hub.Start(t)
	h.apply(t, content("other", "x")+pickAll("other"))
	h.converged(t, "other", 2)
	h.hold(t, "shop", map[string]string{"berlin": "two", "paris": "one"})
	out, code := h.flotilla(t, "rollout", "status", "placement/shop")
	require.Equal(t, 4, code, out)
	require.Contains(t, out, "snapshot 2 is refused since ")
	require.Contains(t, out, "check errors of rollout check errors failed 2 times in a row on berlin: too many errors")
	mended.Store(true)
	out, code = h.flotilla(t, "rollout", "resume", "placement/shop")
	require.Zero(t, code, out)
	require.Contains(t, out, "tried again")
	h.hold(t, "shop", map[string]string{"berlin": "two", "paris": "two"})
	h.told(t, "shop", "RolloutChecksPassed")
}

// A staged run whose checks fail goes over its stages again, the last one first, and has the hub killed on the way; nobody can
// bring that snapshot to members again.
func TestAStagedRunRollsBack(t *testing.T) {
	t.Parallel()
	j := &judge{passes: func(snapshot int64, members int) bool { return snapshot != 2 || members < 4 }}
	h := newCheckedHouse(t, j, four...)
	for _, name := range four {
		h.memberIs(t, name, func(status *api.MemberClusterStatus) bool { return status.State == api.MemberReady })
	}
	waves := strings.Replace(canaryThenProd, "metadata: {name: waves}", "metadata: {name: waves, annotations: {flotilla.io/rollout-check: errors}}", 1)
	waves = strings.Replace(waves, "    beforeStageTasks: [{type: Approval}]\n", "", 1)
	h.apply(t, tier("berlin", "canary", 1)+tier("lima", "prod", 3)+tier("oslo", "prod", 2)+tier("paris", "prod", 1)+
		rolloutCheck("RollBack")+content("shop", "one")+external("shop")+waves+stagedRun("shop-1", "shop", "Run"))
	h.runIs(t, "shop-1", "Completed: berlin Completed, lima Completed, oslo Completed, paris Completed")
	h.apply(t, content("shop", "two"))
	h.apply(t, stagedRun("shop-2", "shop", "Run"))
	h.told(t, "shop", "RolloutChecksFailed")
	h.hub.Kill()
	h.hub.Start(t)
	h.runIs(t, "shop-2", "Failed: lima Completed, oslo Completed, paris Completed, berlin Completed")
	h.hold(t, "shop", map[string]string{"berlin": "one", "lima": "one", "oslo": "one", "paris": "one"})
	bustest.EventuallyIn(t, patience, func() error { // the event may have gone with the hub that was killed
		if out, _ := h.flotilla(t, "get", "placement", "shop", "-o", "jsonpath={.status.checks.phase}"); strings.TrimSpace(out) != api.CheckRolledBack {
			return fmt.Errorf("the checks are %s", out)
		}
		return nil
	})
	h.apply(t, stagedRun("shop-3", "shop", "Run"))
	out, _ := h.flotilla(t, "describe", "csur/shop-2")
	require.Contains(t, out, "members went back to what they had")
	h.runIs(t, "shop-3", "NotStarted: ")
	out, code := h.flotilla(t, "run", "start", "shop-2")
	require.Equal(t, 3, code, out)
	require.Contains(t, out, "snapshot 2 is refused since ")
}
