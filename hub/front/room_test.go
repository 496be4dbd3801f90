package front

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"

	"flotilla/bus/bustest"
	"flotilla/hub/front/forms"
	"flotilla/hub/front/shelf"
)

// Whoever gets, lists or watches has room for the form of the answer before it is made (H49).
func TestAnAnswerHoldsRoomForItsForm(t *testing.T) {
	t.Parallel()
	f, of := changingDoor{revision: &atomic.Int64{}}.open(t, shelf.Usual)
	holdsIn := func(accept string, bytes int64, ask func(r *http.Request) (end func())) bool {
		bustest.Eventually(t, func() error {
			if holds(t, f, 1) {
				return errors.New("room is held of what was asked before")
			}
			return nil
		})
		ctx, turn := asking(t, f)
		defer turn.Leave()
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody)
		r.Header.Set("Accept", accept)
		defer ask(forms.Asked(r, f.codec.of(of.kind), negotiation.DefaultEndpointRestrictions, true))()
		return holds(t, f, bytes)
	}
	get := func(r *http.Request) func() {
		_, err := of.Get(r.Context(), "b", &metav1.GetOptions{})
		require.NoError(t, err)
		return func() {}
	}
	list := func(r *http.Request) func() {
		_, err := of.List(r.Context(), &metainternalversion.ListOptions{})
		require.NoError(t, err)
		return func() {}
	}
	observe := func(r *http.Request) func() {
		w, err := of.Watch(r.Context(), &metainternalversion.ListOptions{})
		require.NoError(t, err)
		<-w.ResultChan()
		<-w.ResultChan()
		return w.Stop
	}
	for what, ask := range map[string]func(*http.Request) func(){"a get": get, "a list": list, "a watch": observe} {
		require.False(t, holdsIn("application/json", 2<<20, ask), what)
		require.True(t, holdsIn(runtime.ContentTypeProtobuf, 2<<20, ask), what)
		require.False(t, holdsIn(runtime.ContentTypeProtobuf, 6<<20, ask), what)
		if what != "a watch" { // which comes in YAML to nobody
			require.True(t, holdsIn("application/yaml", 6<<20, ask), what)
		}
	}
}
