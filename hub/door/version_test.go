package door_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/door"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// at is what is shown of an object at one version, with that and with the version of its spec.
func (h *house) at(kind, name string) (body, version, spec string) {
	h.t.Helper()
	is := must[api.GetResponse](h, api.VerbGet, api.GetRequest{Kind: kind, Name: name, Managed: true})
	var object struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	require.NoError(h.t, json.Unmarshal(is.Object, &object))
	return string(is.Object), object.Metadata.ResourceVersion, is.Spec
}

// stored plays a room as write does, and returns the version of the record.
func stored[T any](h *house, family subjects.Family, name string, value T) (version string) {
	h.t.Helper()
	write(h, family, name, value)
	return fmt.Sprintf("%d.%d", h.store.Term.Epoch, h.store.State.Revision(family.Key(name)))
}

func TestOneVersionHasOneBody(t *testing.T) {
	h := open(t, door.Options{})
	member := beat(elsewhen.Now(), "berlin", nil)
	for _, c := range []struct {
		name, kind, object, text string
		record                   func(uid string) (version string)
	}{
		{"a placement", api.KindClusterResourcePlacement, "web", web, func(uid string) string {
			return stored(h, subjects.Statuses, "web", api.PlacementStatus{Header: api.NewHeader(api.KindPlacementStatus), Placement: "web", UID: uid, ObservedSnapshot: "seven"})
		}},
		{"a member", api.KindMemberCluster, "berlin", berlin, func(uid string) string {
			member.UID, member.Message = uid, "seven"
			return stored(h, subjects.Members, "berlin", member)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			made := h.apply(c.text)[0]
			body, version, spec := h.at(c.kind, c.object)
			require.Equal(t, made.ResourceVersion, version)
			require.Equal(t, made.ResourceVersion, spec)
			require.NotContains(t, body, "seven")

			version = c.record(made.UID)
			later, newest, spec := h.at(c.kind, c.object)
			require.Equal(t, version, newest, "the version is that of the newest record")
			require.Equal(t, made.ResourceVersion, spec)
			require.Contains(t, later, "seven")

			h.release("web", made.UID, 1, "berlin") // of which status is no part here
			same, version, _ := h.at(c.kind, c.object)
			require.Equal(t, newest, version)
			require.Equal(t, later, same)

			_, failure := h.on(api.ApplyRequest{Managed: true, Exact: true, Expect: []api.Expected{{ResourceVersion: spec}}}, c.text)
			require.Nil(t, failure)
			_, failure = h.on(api.ApplyRequest{Managed: true, Exact: true, Expect: []api.Expected{{ResourceVersion: newest}}}, c.text)
			require.Equal(t, api.CodeConflict, failure.Code)
			again := must[api.ApplyResponse](h, api.VerbApply, api.ApplyRequest{Request: h.id(), Managed: true, Exact: true, Documents: []json.RawMessage{json.RawMessage(same)}})
			require.Equal(t, api.ActionUnchanged, again.Results[0].Action, "the version that an object shows is not that of its spec")
		})
	}
}

func TestAListIsOfTheNewestRevision(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(berlin)
	version := stored(h, subjects.Members, "oslo", beat(elsewhen.Now(), "oslo", nil))
	listed := must[api.ListResponse](h, api.VerbList, api.ListRequest{Kind: api.KindMemberCluster, Managed: true})
	require.Equal(t, version, listed.ResourceVersion)
	require.Len(t, listed.Items, 2)
	require.Empty(t, listed.Specs[1], "nobody applied it")
	require.Contains(t, string(listed.Items[1]), `"resourceVersion":"`+listed.ResourceVersion+`"`)
	plain := must[api.ListResponse](h, api.VerbList, api.ListRequest{Kind: api.KindMemberCluster})
	require.Empty(t, plain.Specs)
}

// Who reads while records change reads nothing twice at one version, and never what was not there together.
func TestOneVersionHasOneBodyWhileRecordsChange(t *testing.T) {
	h := open(t, door.Options{})
	uid := h.apply(web)[0].UID
	read, done := make(chan map[string]string), make(chan struct{})
	go func() {
		bodies := map[string]string{}
		defer func() { read <- bodies }()
		for {
			select {
			case <-done:
				return
			default:
			}
			var is api.GetResponse
			get := api.GetRequest{Kind: api.KindClusterResourcePlacement, Name: "web", Managed: true}
			if err := bus.Request(bustest.Context(t), h.client, api.VerbGet, get, &is, bus.RequestOptions{}); err != nil {
				bodies[""] = err.Error()
				return
			}
			var object struct {
				Metadata struct {
					ResourceVersion string
					Labels          struct {
						I int `json:"i,string"`
					}
				}
				Status struct {
					ObservedResourceIndex int `json:",string"`
				}
			}
			err := json.Unmarshal(is.Object, &object)
			before, torn := bodies[object.Metadata.ResourceVersion], object.Status.ObservedResourceIndex > object.Metadata.Labels.I
			if err != nil || torn || before != "" && before != string(is.Object) {
				bodies[""] += before + "\n" + string(is.Object) + "\n"
			}
			bodies[object.Metadata.ResourceVersion] = string(is.Object)
		}
	}()
	for i := range 60 {
		label := fmt.Sprintf("metadata: {labels: {i: \"%d\"}, ", i)
		h.apply(strings.Replace(web, "metadata: {", label, 1))
		write(h, subjects.Statuses, "web", api.PlacementStatus{
			Header: api.NewHeader(api.KindPlacementStatus), Placement: "web", UID: uid, ObservedSnapshot: fmt.Sprint(i),
		})
	}
	close(done)
	bodies := <-read
	require.Empty(t, bodies[""])
	require.Greater(t, len(bodies), 2)
}
