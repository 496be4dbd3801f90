package house

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/uuid"

	"flotilla/agent/target/memory/faults"
	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/core/apply"
	"flotilla/core/status"
	"flotilla/hub/dev"
	"flotilla/hub/hubd"
	"flotilla/tests/elsewhen"
)

const crashing = `apiVersion: v1
kind: Namespace
metadata: {name: web}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example.com/web:%s"}]}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: web, annotations: {flotilla.io/progress-deadline: %s}}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: web}]
  policy: {tolerations: [{operator: Exists}]}
`

// received collects what a webhook is sent.
type received struct {
	mu     sync.Mutex
	events []configs.EventView
}

func (r *received) ServeHTTP(_ http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	var e configs.EventView
	if err == nil && json.Unmarshal(body, &e) == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.events = append(r.events, e)
	}
}

// until waits for a notification about a member, which is the only one.
func (r *received) until(t *testing.T, member, reason string) {
	t.Helper()
	bustest.Eventually(t, func() error {
		if got := r.about(member); !slices.Equal(got, []string{reason}) {
			return fmt.Errorf("sent %v", got)
		}
		return nil
	})
}

// about are the reasons for which a member was told of; what others take longer for on a slow machine is theirs.
func (r *received) about(member string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, e := range r.events {
		if e.Member == member {
			out = append(out, e.Reason)
		}
	}
	return out
}

// eight is a hub with the eight members of the examples in this process.
type eight struct {
	*dev.Fleet
	options dev.Options
}

func startEight(t *testing.T, webhook string) *eight {
	t.Helper()
	members, err := dev.ExampleMembers()
	require.NoError(t, err)
	for i := range members {
		members[i].Target.Memory.ReadyAfter = configs.Duration(100 * time.Millisecond)
	}
	e := &eight{options: dev.Options{Log: zerolog.Nop(), Members: members, Hub: hubd.Options{
		Now: elsewhen.Now, Server: &server.Options{Dir: t.TempDir(), Port: -1}, Log: zerolog.Nop(), Metrics: "127.0.0.1:0", Policy: hubd.Policy{Grace: time.Millisecond},
		Notifications: []configs.Notification{{
			Name: "pager", RetryFor: configs.DefaultRetryFor, When: configs.NotificationFilter{Objects: []string{"placement/*"}, Type: "Warning"},
			Webhook: &configs.Webhook{URL: webhook, Timeout: configs.DefaultWebhookTimeout},
		}},
	}}}
	e.start(t)
	t.Cleanup(func() { require.NoError(t, e.Stop()) })
	require.NoError(t, e.AdmitExamples(t.Context()))
	return e
}

func (e *eight) start(t *testing.T) {
	t.Helper()
	fleet, err := dev.Start(t.Context(), e.options)
	require.NoError(t, err)
	e.Fleet = fleet
}

func (e *eight) ask(t *testing.T, verb string, request, response any) error {
	t.Helper()
	return bus.Request(t.Context(), e.Client, verb, request, response, bus.RequestOptions{})
}

// release applies a version, which stands still once it has not gone on for as long as the deadline.
func (e *eight) release(t *testing.T, version, deadline string) {
	t.Helper()
	documents, err := configs.Parse("test", fmt.Appendf(nil, crashing, version, deadline))
	require.NoError(t, err)
	request := api.ApplyRequest{Request: string(uuid.NewUUID())}
	for _, d := range documents {
		request.Documents = append(request.Documents, d.JSON)
	}
	require.NoError(t, e.ask(t, api.VerbApply, request, nil))
}

// until waits until the status of the placement is as wanted, and returns it.
func (e *eight) until(t *testing.T, met func(*api.PlacementStatus) bool) *api.PlacementStatus {
	t.Helper()
	var found *api.PlacementStatus
	bustest.EventuallyIn(t, patience, func() error {
		var p api.Placement
		if err := e.ask(t, api.VerbGet, api.GetRequest{Kind: api.KindClusterResourcePlacement, Name: "web"}, &p); err != nil {
			return err
		}
		if found = p.Status; found == nil || !met(found) {
			return fmt.Errorf("the status is %+v", found)
		}
		return nil
	})
	return found
}

// told counts the events of the placement with a reason that are about cluster2.
func (e *eight) told(t *testing.T, reason string) int {
	t.Helper()
	var reply api.EventsResponse
	require.NoError(t, e.ask(t, api.VerbEvents, api.EventsRequest{Object: "placement/web", Limit: 1000}, &reply))
	n := 0
	for _, event := range reply.Events {
		if event.Reason == reason && event.Member == "cluster2" {
			n++
		}
	}
	return n
}

// standsStill is true of a release that cluster2 alone holds up.
func standsStill(st *api.PlacementStatus) bool {
	return st.Rollout != nil && st.Rollout.HeldUpTotal == 1 && st.Counts.Available == 7 && st.Conditions[1].Type == "ClusterResourcePlacementRolloutProgressing" && st.Conditions[1].Reason == api.ReasonDeadlineExceeded
}

func complete(snapshot int64) func(*api.PlacementStatus) bool {
	return func(st *api.PlacementStatus) bool {
		return st.Rollout != nil && st.Rollout.Complete && st.Rollout.Snapshot == snapshot && st.Counts.Available == 8
	}
}

// One of eight members crashes: its name and what it lacks are in the status, in one event, in one
// notification and in the metrics. All of that outlives a restart of the hub, and ends once it is mended.
func TestOneCrashingMemberOfEightIsNamed(t *testing.T) {
	t.Parallel()
	pager := &received{}
	server := httptest.NewServer(pager)
	t.Cleanup(server.Close)
	e := startEight(t, server.URL)
	e.release(t, "1.0.0", "1h")
	e.until(t, complete(1))

	e.Agent("cluster2").Memory().SetFaults(faults.Faults{Stuck: []string{"Deployment"}})
	e.release(t, "2.0.0", "3s")
	st := e.until(t, standsStill)
	const lacks = "Deployment web/web 0 of 2 available: back-off restarting failed container"
	require.Equal(t, "held up by cluster2: "+lacks, st.Rollout.Message)
	at := slices.IndexFunc(st.PlacementStatuses, func(m api.PerMemberStatus) bool { return m.ClusterName == "cluster2" })
	require.Equal(t, api.EntryNotAvailable, st.PlacementStatuses[at].State)
	for _, line := range []string{
		`flotilla_placement_stalled{placement="web"} 1`,
		`flotilla_placement_members{placement="web",state="available"} 7`,
		`flotilla_member_placements{member="cluster2",trouble="stalled"} 1`,
		`flotilla_member_placements{member="cluster2",trouble="failed"} 0`,
	} {
		bustest.Eventually(t, func() error { return metric(t, e.Hub.MetricsAddress(), line) })
	}
	pager.until(t, "cluster2", api.ReasonDeadlineExceeded)

	require.NoError(t, e.Stop())
	e.options.Hub.Policy.Grace = time.Hour
	for i := range e.options.Members {
		if m := &e.options.Members[i]; m.Member == "cluster2" {
			m.Target.Memory.Faults = []string{"stuck=Deployment"}
		}
	}
	e.start(t)
	e.until(t, standsStill)
	require.Equal(t, 1, e.told(t, api.ReasonDeadlineExceeded))

	e.Agent("cluster2").Memory().SetFaults(faults.Faults{})
	e.until(t, complete(2))
	require.Equal(t, 1, e.told(t, api.ReasonDeadlineExceeded))
	require.Equal(t, []string{api.ReasonDeadlineExceeded}, pager.about("cluster2"))
	bustest.Eventually(t, func() error {
		return metric(t, e.Hub.MetricsAddress(), `flotilla_placement_stalled{placement="web"} 0`)
	})
}

// A hand that changes an object on a member again and again is overruled each time, and told of once: in one
// event, in one notification, and in the metrics.
func TestDriftThatIsCorrectedIsToldOnce(t *testing.T) {
	t.Parallel()
	pager := &received{}
	server := httptest.NewServer(pager)
	t.Cleanup(server.Close)
	e := startEight(t, server.URL)
	e.release(t, "1.0.0", "1h")
	e.until(t, complete(1))
	m := e.Agent("cluster2").Memory()
	web := api.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "web", Name: "web"}
	replicas := func() (found int64) {
		for _, o := range m.Objects() {
			if apply.RefOf(o) == web {
				found, _, _ = unstructured.NestedInt64(o.Object, "spec", "replicas")
			}
		}
		return found
	}
	for range 4 { // once more would be a fight, which is told of too
		require.True(t, m.Edit(web, func(o *unstructured.Unstructured) {
			require.NoError(t, unstructured.SetNestedField(o.Object, int64(7), "spec", "replicas"))
		}))
		bustest.Eventually(t, func() error {
			if n := replicas(); n != 2 {
				return fmt.Errorf("%d replicas", n)
			}
			return nil
		})
	}
	for _, line := range []string{
		`flotilla_placement_members{placement="web",state="corrected"} 1`,
		`flotilla_member_placements{member="cluster2",trouble="corrected"} 1`,
		`flotilla_member_placements{member="cluster2",trouble="drifted"} 0`,
	} {
		bustest.Eventually(t, func() error { return metric(t, e.Hub.MetricsAddress(), line) })
	}
	pager.until(t, "cluster2", status.AlarmCorrected)
	require.Equal(t, 1, e.told(t, status.AlarmCorrected))
	require.Equal(t, 1, e.until(t, complete(1)).Counts.Corrected)
}
