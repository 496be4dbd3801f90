package hubd_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
)

// Rooms count what they look at by what it is.
func TestRunsOfRoomsAreCounted(t *testing.T) {
	o := embedded(t, "hub")
	o.Metrics = "127.0.0.1:0"
	h := start(t, o)
	leading(t, h)
	request := api.ApplyRequest{Request: "r", Documents: []json.RawMessage{
		json.RawMessage(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}`),
		json.RawMessage(`{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ClusterResourcePlacement","metadata":{"name":"web"},` +
			`"spec":{"resourceSelectors":[{"group":"","version":"v1","kind":"Namespace","name":"shop"}],"policy":{"placementType":"PickAll"}}}`),
		json.RawMessage(`{"apiVersion":"cluster.kubernetes-fleet.io/v1","kind":"MemberCluster","metadata":{"name":"berlin"}}`),
	}}
	if err := bus.Request(t.Context(), client(t, h), api.VerbApply, request, nil, bus.RequestOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, series := range []string{
		`{of="placement",room="scheduler"}`, `{of="placement",room="roller"}`, `{of="placement",room="reporter"}`,
		`{of="disruption",room="dispatcher"}`, `{of="member",room="registrar"}`, `{of="member",room="scheduler"}`,
	} {
		bustest.Eventually(t, func() error {
			if body := scraped(t, h); !strings.Contains(body, "flotilla_room_runs_total"+series) {
				return fmt.Errorf("%s is not in %s", series, body)
			}
			return nil
		})
	}
}
