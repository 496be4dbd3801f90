package door

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/door/bundles"
	"flotilla/hub/door/draft"
	"flotilla/hub/door/steer"
)

// A restart writes the time into what it restarts: it is that of the first decision, or each decision would have all of it stored anew.
func TestARestartIsStoredBeforeTheTurnOnce(t *testing.T) {
	ctx := bustest.Context(t)
	d := New(bustest.Start(t).Lead(t), Options{Log: zerolog.Nop()})
	apply := func(document string) {
		_, err := d.apply(ctx, &api.ApplyRequest{Asked: api.Asked{By: draft.Door()}, Documents: []json.RawMessage{json.RawMessage(document)}})
		require.NoError(t, err)
	}
	apply(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}`)
	for i := range 10 {
		apply(fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"c%d","namespace":"shop"},"spec":{"template":{"metadata":{"labels":{"a":"b"}},"spec":{"x":%q}}}}`, i, bustest.Noise(440<<10)))
	}
	apply(`{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ClusterResourcePlacement","metadata":{"name":"web"},
	  "spec":{"resourceSelectors":[{"group":"","version":"v1","kind":"Namespace","name":"shop"}]}}`)
	steerer, ahead := steer.New(d.desk, d.records), &bundles.Ahead{}
	defer ahead.Free()
	restart := func() error {
		_, err := steerer.Restart(ahead.In(ctx), &api.RolloutRequest{
			Asked: api.Asked{By: draft.Door()}, Object: api.ObjectRef{APIVersion: "placement.kubernetes-fleet.io/v1", Kind: "ClusterResourcePlacement", Name: "web"},
		})
		return err
	}
	require.ErrorIs(t, restart(), bundles.ErrLater)
	require.NoError(t, ahead.Do(ctx))
	began := d.store.Now().Truncate(time.Second)
	bustest.Eventually(t, func() error {
		if d.store.Now().Truncate(time.Second).Equal(began) {
			return errors.New("it is the same second")
		}
		return nil
	})
	_, before := d.store.Content.Moved()
	require.NoError(t, restart())
	_, after := d.store.Content.Moved()
	require.Equal(t, before, after, "within the turn nothing is sealed")
}
