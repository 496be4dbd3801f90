package door

import (
	"bytes"
	"encoding/json"
	"strings"
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
	"flotilla/hub/door/draft"
	"flotilla/hub/door/keep"
	"flotilla/tests/elsewhen"
)

// rotation is one fleet under the secrets of one hub after the other.
type rotation struct {
	server *bustest.Server
	*keep.Referred
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
	all, err := d.keeper.Referred()
	require.NoError(t, err)
	require.Equal(t, r.Referred, all)
	for digest := range all.Bodies {
		body, err := d.store.Content.Get(t.Context(), digest)
		require.NoError(t, err)
		require.Equal(t, digest, d.store.Keys.Digest(body))
	}
	for digest := range all.Works {
		work, err := d.store.Content.Work(t.Context(), digest)
		require.NoError(t, err)
		require.NotEmpty(t, work.Manifests)
		packs := [][][]byte{r.carried(t, d, digest)}
		for _, pack := range work.Packs {
			packs = append(packs, r.carried(t, d, pack.Digest))
		}
		for _, m := range work.Manifests {
			_, err = seal.Open(m.Piece, packs[m.Pack][m.Frame], bus.MaxContent)
			require.NoError(t, err, m.ObjectRef)
		}
	}
}

// carried are the bodies of the bundle of a work.
func (r *rotation) carried(t *testing.T, d *Door, digest string) (bodies [][]byte) {
	t.Helper()
	for _, piece := range d.store.Keys.Pieces(digest) {
		if bundle, err := d.store.Content.Raw(t.Context(), piece.At); err == nil {
			_, bodies, err = seal.Unbundle(bundle)
			require.NoError(t, err)
			return bodies
		}
	}
	require.Fail(t, "nothing is stored of "+digest)
	return nil
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
	d.keeper.Sweep(t.Context(), now)
	d.keeper.Sweep(t.Context(), now.Add(2*time.Hour))
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
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"large","namespace":"shop"},"data":{"a":"` + strings.Repeat("x", 8<<10) + `"}}`,
			`{"apiVersion":"v1","kind":"Service","metadata":{"name":"a","namespace":"shop"},"spec":{"clusterIP":"10.0.0.1","type":"NodePort"}}`,
		} {
			_, err := d.apply(t.Context(), &api.ApplyRequest{Asked: api.Asked{By: draft.Door()}, Documents: []json.RawMessage{json.RawMessage(document)}})
			require.NoError(t, err)
		}
		var err error
		r.Referred, err = d.keeper.Referred()
		require.NoError(t, err)
		require.Len(t, r.Bodies, 6)
		require.Len(t, r.Works, 3)
		require.Len(t, r.Packs, 1, "the last is built upon the one before")
		require.NoError(t, d.keeper.Reseal(t.Context()))
		places, err = d.store.Content.Stored(t.Context())
		require.NoError(t, err)
		require.Empty(t, resealingProblems(t, d))
	}, former)
	r.under(t, "stopped on the way", func(t *testing.T, d *Door) {
		for digest := range r.Bodies {
			require.NoError(t, d.store.Content.Reseal(t.Context(), digest))
			break
		}
		require.Equal(t, health.ReasonResealing, resealingProblems(t, d)[0].Reason)
		swept(t, d)
		r.whole(t, d)
	}, newest, former)
	r.under(t, "goes on", func(t *testing.T, d *Door) {
		require.Len(t, resealingProblems(t, d), 1)
		require.NoError(t, d.keeper.Reseal(t.Context()))
		require.Empty(t, resealingProblems(t, d))
		done, _ := d.keeper.Resealed()
		require.EqualValues(t, 9, done)
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
