package object

import (
	"testing"
	"time"

	"flotilla/core/api"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRepeatedEventsAreFolded(t *testing.T) {
	at := func(minutes int) metav1.Time {
		return metav1.NewTime(time.Date(2026, 3, 1, 12, minutes, 0, 0, time.UTC))
	}
	event := func(minutes int, reason string) api.Audit {
		return api.Audit{At: at(minutes), Type: "Normal", Reason: reason, Message: "m", By: "roller"}
	}
	folded := foldEvents([]api.Audit{event(0, "A"), event(1, "B"), event(5, "A")})
	require.Len(t, folded, 2)
	require.Equal(t, "B", folded[0].Reason)
	require.Equal(t, foldedEvent{Audit: event(5, "A"), first: at(0).Time, times: 2}, folded[1])
}

func TestObjectsOfEventsAreShownAsTheyAreTyped(t *testing.T) {
	for object, want := range map[string]string{
		"placement/web": "placement/web", "member/berlin": "member/berlin", "placement/shop/web": "rp/web -n shop",
		"object/Deployment/shop/web": "deployment/web -n shop", "object/Namespace/shop": "namespace/shop",
	} {
		require.Equal(t, want, typed(object))
	}
}
