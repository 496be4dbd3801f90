package door_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/uuid"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/door"
	"flotilla/subjects"
)

// An answer holds a bounded number of events, found among a bounded number, and says where older ones begin: also one that
// found nothing. Page by page a person's event behind a flood is found, and events that come meanwhile move no page.
func TestADoorAnswersEventsPageByPage(t *testing.T) {
	h := open(t, door.Options{})
	bustest.Flood(t, h.store.Conn, 1, api.Audit{Object: "placement/web", Reason: "Created", By: "anna"})
	flood := api.Audit{Object: "member/mallory", Reason: "Flaps", By: "reporter", Member: "mallory"}
	bustest.Flood(t, h.store.Conn, 12_000, flood)

	request := api.EventsRequest{By: "anna", Limit: 1000}
	first := must[api.EventsResponse](h, api.VerbEvents, request)
	require.Empty(t, first.Events)
	require.NotZero(t, first.Older)
	bustest.Flood(t, h.store.Conn, 1, api.Audit{Object: "placement/web", Reason: "Configured", By: "anna"})
	request.Before = first.Older
	second := must[api.EventsResponse](h, api.VerbEvents, request)
	require.Len(t, second.Events, 1)
	require.Equal(t, "Created", second.Events[0].Reason)
	require.Zero(t, second.Older)

	many := must[api.EventsResponse](h, api.VerbEvents, api.EventsRequest{Object: flood.Object, Limit: 1_000_000})
	require.Len(t, many.Events, 600)
	require.NotZero(t, many.Older)
}

// What is done to an object is told, whatever its name takes where events are kept, and found by its name.
func TestWhatIsDoneUnderAnyNameIsTold(t *testing.T) {
	h := peopled(t)
	olga := h.add("olga", api.RoleOperator)
	for _, sign := range []string{"<", "&", ">", `"`, `\`, "é", "x"} {
		for kind, namespace := range map[string]string{"ClusterRole": "", "Role": strings.Repeat("n", 63)} {
			metadata := map[string]any{"name": strings.Repeat(sign, 253/len(sign))}
			if namespace != "" {
				metadata["namespace"] = namespace
			}
			text, err := json.Marshal(map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": metadata, "rules": []any{}})
			require.NoError(t, err)
			var answer api.ApplyResponse
			require.NoError(t, bus.Request(bustest.Context(t), olga, api.VerbApply, api.ApplyRequest{Request: string(uuid.NewUUID()), Documents: []json.RawMessage{text}}, &answer, bus.RequestOptions{}))
			require.Equal(t, api.ActionCreated, answer.Results[0].Action)
			name := api.AuditObject(subjects.KindObject, answer.Results[0].Object.String())
			bustest.Eventually(t, func() error {
				told := must[api.EventsResponse](h, api.VerbEvents, api.EventsRequest{Object: name, By: "olga"})
				if len(told.Events) != 1 {
					return fmt.Errorf("%s: %d events, %d dropped", name, len(told.Events), h.store.Audit.Dropped())
				}
				require.Equal(t, "Created", told.Events[0].Reason)
				require.Equal(t, name, told.Events[0].Object, "there is room for any name that the door lets through")
				return nil
			})
		}
	}
	require.Zero(t, h.store.Audit.Dropped())
}
