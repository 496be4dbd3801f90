package disruptor

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
	"flotilla/core/explain"
)

// supposedPool is a NodePool as a file holds it.
func supposedPool(name, annotations, budgets, template string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":%q,"annotations":{%s}},
		"spec":{"disruption":{"consolidateAfter":"0s","budgets":[%s]},"template":{"spec":{"expireAfter":"Never"%s}}}}`, name, annotations, budgets, template))
}

func supposedCatalog(name string, price float64) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"apiVersion":"flotilla.io/v1alpha1","kind":"InstanceCatalog","metadata":{"name":%q},
		"spec":{"types":[{"name":"d4","cpu":4,"memory":"16Gi","offerings":[{"zone":"z-a","capacityType":"on-demand","price":%g}]}]}}`, name, price))
}

const open = `{"nodes":"100%"}`

// A plan supposes the pools and catalogs of its documents in place of those that the hub holds, and leaves
// no trace.
func TestPlansSupposeDocuments(t *testing.T) {
	h := newHarness(t, resting(), "berlin")
	h.pool("a", "0")
	h.nodes("berlin", aNode("n1", "a", 4), aNode("n2", "a", 2, 1500))
	h.decided("berlin", "n1", "BudgetSpent")
	plan := func(documents ...json.RawMessage) explain.MemberForecast {
		t.Helper()
		return answered[explain.MemberForecast](h, api.VerbPlanNodes, api.PlanNodesRequest{Member: "berlin", Documents: documents})
	}

	require.Empty(t, plan().Commands)
	free := plan(supposedPool("a", "", open, ""))
	require.Len(t, free.Commands, 1)
	require.Equal(t, []string{"n1"}, free.Commands[0].Nodes)
	require.InDelta(t, 0.2, free.Savings.Amount, 1e-9)
	require.Equal(t, []string{"planned as if NodePool/a of the files were applied; nothing is stored"}, free.Notes)
	require.Empty(t, plan().Commands, "nothing of it is kept")
	require.Empty(t, h.record("berlin").Disruptions)

	dear := plan(supposedPool("a", "", open, ""), supposedCatalog("aa", 7))
	require.InDelta(t, 7, dear.Commands[0].Savings.Amount, 1e-9, "the first catalog by name counts")
	require.InDelta(t, 0.2, plan(supposedPool("a", "", open, ""), supposedCatalog("zz", 7)).Commands[0].Savings.Amount, 1e-9)
	require.InDelta(t, 3, plan(supposedPool("a", "", open, ""), supposedCatalog("all", 3)).Commands[0].Savings.Amount, 1e-9, "in place of the hub's")

	other := plan(supposedPool("b", "", open, ""))
	require.Empty(t, other.Commands, "the hub's own pools stay")
	require.Contains(t, other.Before["Empty"], "a")
	elsewhere := plan(supposedPool("a", `"flotilla.io/members":"region=mars"`, open, ""))
	require.Empty(t, elsewhere.Commands)
	require.NotContains(t, elsewhere.Before["Empty"], "a")
	shared := plan(supposedPool("a", `"flotilla.io/fleet-budget":"all=0"`, open, ""))
	require.Empty(t, shared.Commands)
	require.Equal(t, map[string]int{"all": 0}, shared.FleetBudgets)
	closed := plan(supposedPool("a", "", `{"nodes":"0"}`, ""))
	require.Contains(t, closed.Notes[1], "NodePool/a: BudgetLint")
}

// What is supposed is parsed while others work with the provisioning of the hub, and ends with whoever asked (H39).
func TestWhatIsSupposedHoldsNobodyUp(t *testing.T) {
	h := newHarness(t, resting(), "berlin")
	h.pool("a", "0")
	h.nodes("berlin", aNode("n1", "a", 4))
	h.ready()
	h.stop() // the passes do not come between
	k := h.room.provisioning
	as, err := suppose([]json.RawMessage{supposedPool("b", "", open, ""), supposedPool("c", "", open, "")})
	require.NoError(t, err)
	free := &countingContext{Context: bustest.Context(t), also: func() {
		require.True(t, k.mu.TryLock(), "nobody waits for what is supposed")
		k.mu.Unlock()
	}}
	pools, err := k.supposing(free, nil, as)
	require.NoError(t, err)
	require.Len(t, pools.parsed, 3)
	require.Positive(t, free.asked.Load())

	over, end := context.WithCancel(bustest.Context(t))
	end()
	_, err = k.supposing(over, nil, as)
	require.ErrorIs(t, err, context.Canceled)
}

// Who notes that something changed waits for nobody who works with the provisioning.
func TestChangesAreNotedWithoutWaiting(t *testing.T) {
	h := newHarness(t, resting(), "berlin")
	h.pool("a", "0", func(p *api.NodePool) {
		p.Spec.Template.Spec.NodeClassRef = &api.NodeClassRef{Group: "karpenter.azure.com", Kind: "AKSNodeClass", Name: "std"}
	})
	h.nodes("berlin", aNode("n1", "a", 4))
	h.ready()
	h.stop() // the passes do not come between
	k := h.room.provisioning
	k.of(bustest.Context(t), nil)
	k.mu.Lock()
	defer k.mu.Unlock()
	noted := make(chan bool, 2)
	go func() {
		noted <- k.noteObject("karpenter.azure.com|AKSNodeClass||std")
		noted <- k.noteObject("karpenter.azure.com|AKSNodeClass||other")
	}()
	require.True(t, bustest.Within(t, noted, "the change of a class that a pool names"))
	require.False(t, bustest.Within(t, noted, "that of another"))
	k.classes["a"] = "older"
	k.renew()
	require.Empty(t, k.classes)
}

// A supposed node class drifts the nodes that were made with another one.
func TestPlansSupposeNodeClasses(t *testing.T) {
	h := newHarness(t, resting(), "berlin")
	ref := &api.NodeClassRef{Group: "example.com", Kind: "OurNodeClass", Name: "default"}
	h.pool("a", "100%", func(p *api.NodePool) { p.Spec.Template.Spec.NodeClassRef = ref })
	class := func(image string) json.RawMessage {
		return json.RawMessage(`{"apiVersion":"example.com/v1","kind":"OurNodeClass","metadata":{"name":"default"},"spec":{"image":"` + image + `"}}`)
	}
	hash, err := capacity.ClassHash(class("old"))
	require.NoError(t, err)
	n := aNode("n1", "a", 2, 1500)
	n.Annotations = map[string]string{api.AnnotationClassHash: hash}
	h.nodes("berlin", n)
	h.decided("berlin", "n1", "NotDrifted")
	same := answered[explain.MemberForecast](h, api.VerbPlanNodes, api.PlanNodesRequest{Member: "berlin", Documents: []json.RawMessage{class("old")}})
	require.Empty(t, same.Commands)
	changed := answered[explain.MemberForecast](h, api.VerbPlanNodes, api.PlanNodesRequest{Member: "berlin", Documents: []json.RawMessage{class("new")}})
	require.Len(t, changed.Commands, 1)
	require.Equal(t, disruption.DriftClass, changed.Commands[0].Drift)
}

// What waits was chosen with the hub's own pools: such a plan leaves it out, and says so.
func TestSupposingPlansLeaveOutWhatWaits(t *testing.T) {
	h := newHarness(t, Options{Interval: 10 * time.Millisecond, ValidationWait: time.Hour}, "berlin")
	h.pool("a", "100%")
	h.nodes("berlin", aNode("n1", "a", 4), aNode("n2", "a", 2, 1500))
	bustest.Eventually(t, func() error {
		if n := len(h.room.waitingOn("berlin")); n != 1 {
			return fmt.Errorf("%d commands wait", n)
		}
		return nil
	})
	plan := answered[explain.MemberForecast](h, api.VerbPlanNodes, api.PlanNodesRequest{Member: "berlin", Documents: []json.RawMessage{supposedPool("a", "", `{"nodes":"0"}`, "")}})
	require.Empty(t, plan.Commands)
	require.Contains(t, strings.Join(plan.Notes, "\n"), "member berlin: left out, chosen with the hub's own pools and about to begin: Empty of n1")
	require.Len(t, h.room.waitingOn("berlin"), 1, "it waits on")
}

// All faults of the documents come back at once.
func TestSupposedDocumentsAreChecked(t *testing.T) {
	h := newHarness(t, resting(), "berlin")
	h.pool("a", "0")
	h.nodes("berlin", aNode("n1", "a", 4))
	h.decided("berlin", "n1", "BudgetSpent")
	_, err := ask[json.RawMessage](h, api.VerbPlanNodes, api.PlanNodesRequest{Member: "berlin", Documents: []json.RawMessage{
		supposedPool("a", "", `{"nodes":"0","schedule":"@daily","duration":"1h","timeZone":"Europe/Bonn"}`, ""),
		supposedPool("a", "", `{"nodes":"many"}`, ""), supposedPool("a", "", open, ""),
		json.RawMessage(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"d"}}`), json.RawMessage(`[]`),
	}})
	var failure *api.Failure
	require.ErrorAs(t, err, &failure)
	require.Equal(t, api.CodeInvalid, failure.Code)
	var found []string
	for _, f := range failure.Faults {
		found = append(found, f.Object+" "+f.Path)
	}
	require.Equal(t, []string{
		"NodePool/a spec.disruption.budgets[0].timeZone", "NodePool/a spec.disruption.budgets[0].nodes", "NodePool/a metadata.name",
		"ConfigMap/d/c kind", "document 5 ",
	}, found)
}
