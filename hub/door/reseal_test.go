package door

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/core/health"
	"flotilla/core/seal"
	"flotilla/tests/elsewhen"
)

// rotation is one fleet under the secrets of one hub after the other.
type rotation struct {
	server        *bustest.Server
	bodies, works map[string]bool
}

// under has a hub with secrets lead for as long as f runs.
func (r *rotation) under(t *testing.T, id string, f func(t *testing.T, d *Door), content ...[]byte) {
	t.Helper()
	keys := &seal.Keyring{Digests: bustest.Keys().Digests, Content: content}
	require.True(t, t.Run(id, func(t *testing.T) {
		o := store.LeadOptions{Secrets: func() (*seal.Keyring, error) { return keys, nil }}
		f(t, New(bustest.Lead(t, r.server.Hub(t), id, o), Options{Log: zerolog.Nop()}))
	}))
}

// whole says that everything referred to is there and can be opened, with the digests that it had.
func (r *rotation) whole(t *testing.T, d *Door) {
	t.Helper()
	bodies, works, err := d.referred()
	require.NoError(t, err)
	require.Equal(t, r.bodies, bodies)
	require.Equal(t, r.works, works)
	for digest := range bodies {
		body, err := d.store.Content.Get(t.Context(), digest)
		require.NoError(t, err)
		require.Equal(t, digest, d.store.Keys.Digest(body))
	}
	for digest := range works {
		body, err := d.store.Content.Get(t.Context(), digest)
		require.NoError(t, err)
		var work api.Work
		require.NoError(t, json.Unmarshal(body, &work))
		require.NotEmpty(t, work.Manifests)
		for _, m := range work.Manifests {
			sealed, err := d.store.Content.Raw(t.Context(), m.At)
			require.NoError(t, err, m.ObjectRef)
			_, err = seal.Open(m.Piece, sealed, bus.MaxContent)
			require.NoError(t, err)
		}
	}
}

// resealingProblems are those that the status tells of content that is not all sealed with the newest secret.
func resealingProblems(t *testing.T, d *Door) (found []api.Problem) {
	t.Helper()
	status, err := d.view.Status(t.Context(), nil)
	require.NoError(t, err)
	for _, p := range status.(*api.FleetStatus).Problems {
		if p.Reason == health.ReasonResealing {
			found = append(found, p)
		}
	}
	return found
}

// swept has everything removed that nothing refers to.
func swept(t *testing.T, d *Door) {
	t.Helper()
	now := elsewhen.Now()
	d.sweepOnce(t.Context(), now)
	d.sweepOnce(t.Context(), now.Add(2*time.Hour))
}

// After a rotation everything is sealed with the newest secret, also where a hub is stopped on the way; until then the
// status says how far it is, and nothing that is needed is swept. Then the former secret opens nothing any more, and no
// digest has changed, by which members would apply anything anew.
func TestContentIsSealedAnewAfterARotation(t *testing.T) {
	r := &rotation{server: bustest.Start(t)}
	former, newest := bytes.Repeat([]byte{2}, seal.KeyBytes), bytes.Repeat([]byte{3}, seal.KeyBytes)
	var places []string
	r.under(t, "before", func(t *testing.T, d *Door) {
		for _, document := range []string{
			`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}`,
			`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"key","namespace":"shop"},"stringData":{"password":"hunter2"}}`,
			`{"apiVersion":"v1","kind":"Service","metadata":{"name":"a","namespace":"shop"},"spec":{"clusterIP":"10.0.0.1"}}`,
			`{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ClusterResourcePlacement","metadata":{"name":"web"},
			  "spec":{"resourceSelectors":[{"group":"","version":"v1","kind":"Namespace","name":"shop"}]}}`,
		} {
			_, err := d.apply(t.Context(), &api.ApplyRequest{Asked: api.Asked{By: door}, Documents: []json.RawMessage{json.RawMessage(document)}})
			require.NoError(t, err)
		}
		var err error
		r.bodies, r.works, err = d.referred()
		require.NoError(t, err)
		require.Len(t, r.bodies, 4)
		require.Len(t, r.works, 1)
		require.NoError(t, d.resealAll(t.Context()))
		places, err = d.store.Content.Stored(t.Context())
		require.NoError(t, err)
		require.Empty(t, resealingProblems(t, d))
	}, former)
	r.under(t, "stopped on the way", func(t *testing.T, d *Door) {
		for digest := range r.bodies {
			require.NoError(t, d.store.Content.Reseal(t.Context(), digest, nil))
			break
		}
		require.Equal(t, health.ReasonResealing, resealingProblems(t, d)[0].Reason)
		swept(t, d)
		r.whole(t, d)
	}, newest, former)
	r.under(t, "goes on", func(t *testing.T, d *Door) {
		require.Len(t, resealingProblems(t, d), 1)
		require.NoError(t, d.resealAll(t.Context()))
		require.Empty(t, resealingProblems(t, d))
		require.EqualValues(t, 5, d.resealing.done.Load())
		r.whole(t, d)
		swept(t, d)
		left, err := d.store.Content.Stored(t.Context())
		require.NoError(t, err)
		for _, at := range places {
			require.NotContains(t, left, at, "what was sealed before is gone")
		}
	}, newest, former)
	r.under(t, "done", func(t *testing.T, d *Door) { require.Empty(t, resealingProblems(t, d), "once is enough") }, newest, former)
	r.under(t, "pruned", func(t *testing.T, d *Door) { r.whole(t, d) }, newest)

	o := store.LeadOptions{Secrets: func() (*seal.Keyring, error) { return bustest.ReadKeys() }}
	err := store.Lead(bustest.Context(t), r.server.Hub(t), "former", o, nil)
	require.ErrorIs(t, err, streams.ErrSecrets)
	require.ErrorContains(t, err, seal.Name(newest))
}
