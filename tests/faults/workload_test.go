package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"flotilla/bus"
	"flotilla/core/api"
)

const (
	apps      = 3
	clients   = 6
	pace      = 25 * time.Millisecond // of each client and reader
	mark      = "example.com/request" // annotation that says which request wrote an object
	placement = "placement.kubernetes-fleet.io/v1"
	// A client gives up after a while, and then does not know.
	clientTry, clientTotal = time.Second, 6 * time.Second
)

// What happens to apps beside changes of what they are. A member that is picked again before it gave an app up gets
// all that is new at once, since nobody counts on it any more: so only what is not scaled is held to its strategy.
const (
	deletedFrom = 1
	scaledFrom  = 2
)

func appName(n int) string { return fmt.Sprintf("app-%d", n) }

func configMapOf(app string) api.ObjectRef {
	return api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: app, Name: app}
}

func deploymentOf(app string) api.ObjectRef {
	return api.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: app, Name: app}
}

func placementOf(app string) api.ObjectRef {
	return api.ObjectRef{APIVersion: placement, Kind: api.KindClusterResourcePlacement, Name: app}
}

func contentOf(app string) []api.ObjectRef {
	return []api.ObjectRef{configMapOf(app), deploymentOf(app)}
}

// content is a ConfigMap and a Deployment that a request wrote.
func content(app, request string) []json.RawMessage {
	meta := fmt.Sprintf(`"metadata":{"name":%q,"namespace":%q,"annotations":{%q:%q}}`, app, app, mark, request)
	return []json.RawMessage{
		json.RawMessage(fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap",%s,"data":{"request":%q}}`, meta, request)),
		json.RawMessage(fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment",%s,"spec":{"replicas":1,"selector":{"matchLabels":{"app":%q}},
			"template":{"metadata":{"labels":{"app":%q},"annotations":{%q:%q}},"spec":{"containers":[{"name":"web","image":"web"}]}}}}`,
			meta, app, app, mark, request)),
	}
}

// placed places an app on so many members; turn makes its spec differ from all others.
func placed(app, request string, members, turn int) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"apiVersion":%q,"kind":"ClusterResourcePlacement","metadata":{"name":%q,"annotations":{%q:%q}},"spec":{
		"resourceSelectors":[{"group":"","version":"v1","kind":"Namespace","name":%q}],"policy":{"placementType":"PickN","numberOfClusters":%d},
		"revisionHistoryLimit":%d,"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":1,"maxSurge":1,"unavailablePeriodSeconds":0}}}}`,
		placement, app, mark, request, app, members, 1+turn%1000))
}

func namespace(app string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, app))
}

// writer is a client that changes things, one after the other.
type writer struct {
	name  string
	conn  *bus.Conn
	take  *Recorder
	since func() time.Duration
	count int
	turns *atomic.Int64 // of placements
}

func (w *writer) request() string {
	w.count++
	return w.name + "-" + strconv.Itoa(w.count)
}

// work writes until ctx ends; what is under way then is still answered or given up.
func (w *writer) work(ctx context.Context, random *rand.Rand) {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		at := random.IntN(apps)
		app := appName(at)
		switch n := random.IntN(10); {
		case n < 1 && at >= deletedFrom:
			w.delete(context.WithoutCancel(ctx), app)
		case n < 4 && at >= scaledFrom:
			_ = w.scale(context.WithoutCancel(ctx), app, 1+random.IntN(len(memberNames)))
		default:
			_ = w.apply(context.WithoutCancel(ctx), app)
		}
	}
}

// setUp makes an app, with whatever it needs.
func (w *writer) setUp(ctx context.Context, app string) error {
	ns := api.ApplyRequest{Request: w.request(), Documents: []json.RawMessage{namespace(app)}}
	if err := bus.Request(ctx, w.conn, api.VerbApply, ns, nil, bus.RequestOptions{}); err != nil {
		return err
	}
	return errors.Join(w.apply(ctx, app), w.scale(ctx, app, len(memberNames)))
}

func (w *writer) apply(ctx context.Context, app string) error {
	request := w.request()
	return w.write(ctx, request, content(app, request), contentOf(app)...)
}

func (w *writer) scale(ctx context.Context, app string, members int) error {
	request := w.request()
	return w.write(ctx, request, []json.RawMessage{placed(app, request, members, int(w.turns.Add(1)))}, placementOf(app))
}

func (w *writer) write(ctx context.Context, request string, documents []json.RawMessage, objects ...api.ObjectRef) error {
	var response api.ApplyResponse
	span, err := w.ask(ctx, api.VerbApply, api.ApplyRequest{Request: request, Documents: documents}, &response)
	for i, object := range objects {
		write := Write{Span: span, State: State{Object: object.String(), Request: request}, Outcome: outcomeOf(err)}
		if err == nil {
			write.State = stateOf(&response.Results[i], request)
		}
		w.take.Note(func(h *History) { h.Writes = append(h.Writes, write) })
	}
	return err
}

// delete deletes the content of an app.
func (w *writer) delete(ctx context.Context, app string) {
	request := w.request()
	objects := contentOf(app)
	var response api.DeleteResponse
	span, err := w.ask(ctx, api.VerbDelete, api.DeleteRequest{Request: request, Objects: objects}, &response)
	for _, object := range objects {
		write := Write{Span: span, State: State{Object: object.String(), Request: request}, Outcome: outcomeOf(err), Delete: true}
		if err == nil {
			write.Outcome = Refused // there was none, unless it is among the results
		}
		for i := range response.Results {
			if response.Results[i].Object == object {
				write.State, write.Outcome = stateOf(&response.Results[i], request), Acknowledged
			}
		}
		w.take.Note(func(h *History) { h.Writes = append(h.Writes, write) })
	}
}

func (w *writer) ask(ctx context.Context, verb string, request, response any) (Span, error) {
	began := w.since()
	err := bus.Request(ctx, w.conn, verb, request, response, bus.RequestOptions{Try: clientTry, Total: clientTotal})
	return Span{began, w.since()}, err
}

// outcomeOf is what an answer says. A hub that stumbled may have done what it was asked for.
func outcomeOf(err error) Outcome {
	failure := (*api.Failure)(nil)
	switch {
	case err == nil:
		return Acknowledged
	case errors.As(err, &failure) && failure.Code != api.CodeInternal && failure.Code != api.CodeUnavailable:
		return Refused
	}
	return Unknown
}

func stateOf(r *api.ApplyResult, request string) State {
	return State{
		Object: r.Object.String(), Request: request, UID: r.UID, Generation: r.Generation, Version: versionOf(r.ResourceVersion),
	}
}

func versionOf(text string) Version {
	epoch, revision, _ := strings.Cut(text, ".")
	var v Version
	v.Epoch, _ = strconv.ParseUint(epoch, 10, 64)
	v.Revision, _ = strconv.ParseUint(revision, 10, 64)
	return v
}
