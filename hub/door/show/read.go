package show

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/strict"
	"flotilla/hub/door/records"
)

// pageBytes is how much one page of a list holds; NATS takes 1 MiB.
const pageBytes = 600 << 10

// Get answers one object.
func (v *View) Get(ctx context.Context, request *api.GetRequest) (any, error) {
	ref := api.ObjectRef{
		APIVersion: request.APIVersion, Kind: request.Kind, Namespace: request.Namespace, Name: request.Name,
	}
	if err := Unseen(request.By, ref.APIVersion, ref.Kind); err != nil {
		return nil, err
	}
	if err := seeing(request.By, request.ShowSecrets); err != nil {
		return nil, err
	}
	found, err := v.get(ctx, ref, rendering{request.Brief, request.ShowSecrets, request.Managed, v.standings()})
	if err != nil || !request.Managed {
		return found.body, err
	}
	return &api.GetResponse{Object: found.body, Spec: found.spec}, nil
}

func (v *View) get(ctx context.Context, ref api.ObjectRef, as rendering) (shown, error) {
	if records.OurGate(ref) {
		if gate, err := v.gate(ctx, ref.Name); gate != nil || err != nil {
			return shown{body: gate}, err
		}
	}
	if records.OurRequest(ref) {
		request, err := v.request(ctx, ref)
		return shown{body: request}, err
	}
	entry, found, err := v.find(ref)
	if err != nil {
		return shown{}, err
	}
	if found {
		is, err := v.show(ctx, &entry, as)
		if is.body != nil || err != nil {
			return is, err
		}
	}
	if record, revision, seen := v.records.Seen.Get(ref.Name); seen && ref.Kind == api.KindMemberCluster && !v.records.Lingers(&record) {
		unadmitted, err := v.renderUnadmitted(&record, revision, as.managed)
		return shown{body: unadmitted}, err
	}
	return shown{}, records.NotFound(ref)
}

// find looks an object up. Without an apiVersion the kind alone must say which one is meant.
func (v *View) find(ref api.ObjectRef) (store.Entry[api.Spec], bool, error) {
	table, name := v.records.Place(ref)
	spec, revision, found, err := table.Find(name)
	if err != nil {
		return store.Entry[api.Spec]{}, false, records.Unreadable(ref, err)
	}
	if found {
		return store.Entry[api.Spec]{Name: name, Value: spec, Revision: revision}, true, nil
	}
	if ref.APIVersion != "" || table != v.records.Objects {
		return store.Entry[api.Spec]{}, false, nil
	}
	var matches []store.Entry[api.Spec]
	for _, entry := range v.records.Objects.All() {
		object := entry.Value.Object
		if object.Kind == ref.Kind && object.Namespace == ref.Namespace && object.Name == ref.Name {
			matches = append(matches, entry)
		}
	}
	if len(matches) > 1 {
		return store.Entry[api.Spec]{}, false, &api.Failure{
			Code: api.CodeInvalid, Next: "flotilla get " + ref.Kind + "." + content.GroupOf(matches[0].Value.Object.APIVersion) + " " + ref.Name,
			Message: fmt.Sprintf("%s: found it in groups %q and %q, expected apiVersion to say which", ref,
				content.GroupOf(matches[0].Value.Object.APIVersion), content.GroupOf(matches[1].Value.Object.APIVersion)),
		}
	}
	if len(matches) == 0 {
		return store.Entry[api.Spec]{}, false, nil
	}
	return matches[0], true, nil
}

// item is one object that a list may hold, with how to render it.
type item struct {
	ref    api.ObjectRef
	labels map[string]string
	stored bool // its mark follows from the records
	render func(context.Context) (shown, error)
}

// key orders a list and is where its next page goes on.
func (i *item) key() string { return i.ref.Namespace + "/" + i.ref.Name + "/" + i.ref.APIVersion }

// named is which object of its kind it is.
func (i *item) named() api.ListKey { return api.ListKey{Namespace: i.ref.Namespace, Name: i.ref.Name} }

// List answers the objects of a kind, a page at a time.
func (v *View) List(ctx context.Context, request *api.ListRequest) (any, error) {
	if err := Unseen(request.By, request.APIVersion, request.Kind); err != nil {
		return nil, err
	}
	if err := seeing(request.By, request.ShowSecrets); err != nil {
		return nil, err
	}
	selector, err := strict.Selector(request.LabelSelector)
	if err != nil {
		return nil, &api.Failure{Code: api.CodeInvalid, Message: fmt.Sprintf("reading label selector %s: %s", strict.Shown(request.LabelSelector), err)}
	}
	if request.Marks && !request.Managed {
		return nil, &api.Failure{Code: api.CodeInvalid, Message: "marks: found true, expected it with managed alone"}
	}
	if n := len(request.Only); n > mostOnly {
		return nil, &api.Failure{Code: api.CodeInvalid, Message: fmt.Sprintf("only: found %d keys, expected at most %d", n, mostOnly)}
	}
	response := &api.ListResponse{Items: []json.RawMessage{}, ResourceVersion: fmt.Sprintf("%v.0", v.store.Term.Epoch)}
	if request.Managed { // before anything is read: nothing is missed by who goes on from there
		response.ResourceVersion = v.version(v.store.State.Told())
	}
	items := v.itemsOf(request)
	slices.SortFunc(items, func(a, b item) int { return cmp.Compare(a.key(), b.key()) })
	only := map[api.ListKey]bool{}
	for _, key := range request.Only {
		only[key] = true
	}
	if items = slices.DeleteFunc(items, func(i item) bool { return !wanted(&i, request, selector) || len(only) > 0 && !only[i.named()] }); request.Marks {
		return v.marks(ctx, items, request.Limit, response)
	}
	return v.page(ctx, items, request, response)
}

// page has an answer hold as many objects as fit.
func (v *View) page(ctx context.Context, items []item, request *api.ListRequest, response *api.ListResponse) (any, error) {
	size := 0
	for i := range items {
		candidate := &items[i]
		is, err := candidate.render(ctx)
		if err != nil {
			return nil, err
		}
		body := is.body
		if body == nil { // it has gone meanwhile
			continue
		}
		full := request.Limit > 0 && len(response.Items) == request.Limit
		if len(response.Items) > 0 && (full || size+len(body) > pageBytes) {
			return response, nil
		}
		response.Items = append(response.Items, body)
		if is.mark == "" && !candidate.stored {
			is.mark = digested(body)
		}
		if request.Managed {
			response.Specs, response.Marks = append(response.Specs, is.spec), append(response.Marks, is.mark)
		}
		response.Continue = candidate.key()
		size += len(body)
	}
	response.Continue = ""
	return response, nil
}

// wanted says whether an item belongs to the page that request asks for.
func wanted(i *item, request *api.ListRequest, selector labels.Selector) bool {
	if request.Namespace != "" && i.ref.Namespace != request.Namespace {
		return false
	}
	if request.Continue != "" && i.key() <= request.Continue {
		return false
	}
	return selector.Matches(labels.Set(i.labels))
}

// itemsOf returns all objects of a kind.
func (v *View) itemsOf(request *api.ListRequest) []item {
	table, _ := v.records.Place(api.ObjectRef{APIVersion: request.APIVersion, Kind: request.Kind})
	if table == v.records.Members {
		return v.memberItems(request.Managed)
	}
	if ref := (api.ObjectRef{APIVersion: request.APIVersion, Kind: request.Kind}); records.OurRequest(ref) {
		return v.requestItems(request.Kind)
	}
	var items []item
	if records.OurGate(api.ObjectRef{APIVersion: request.APIVersion, Kind: request.Kind}) {
		items = v.gateItems()
	}
	as := rendering{request.Brief, request.ShowSecrets, request.Managed, v.standings()}
	for _, entry := range table.All() {
		object := entry.Value.Object
		if object.Kind != request.Kind {
			continue
		}
		if request.APIVersion != "" && content.GroupOf(object.APIVersion) != content.GroupOf(request.APIVersion) {
			continue
		}
		items = append(items, item{
			ref: object, labels: entry.Value.Labels, stored: true,
			render: func(ctx context.Context) (shown, error) {
				return v.show(ctx, &entry, as)
			},
		})
	}
	return items
}

// memberItems are the admitted members and those that only heartbeat.
func (v *View) memberItems(managed bool) []item {
	var items []item
	placed := v.placedByMember()
	for _, entry := range v.records.Members.All() {
		effective := entry.Value.Labels
		record, _, seen := v.records.Seen.Get(entry.Name)
		if seen {
			effective = record.Labels
		}
		items = append(items, item{
			ref: entry.Value.Object, labels: effective, stored: true,
			render: func(ctx context.Context) (shown, error) {
				if managed {
					return v.show(ctx, &entry, rendering{managed: true})
				}
				rendered, err := v.renderMember(&entry.Value, entry.Revision, placed[entry.Name])
				return shown{body: rendered}, err
			},
		})
	}
	for _, entry := range v.records.Seen.All() {
		if _, _, admitted := v.records.Members.Get(entry.Name); admitted || v.records.Lingers(&entry.Value) {
			continue
		}
		items = append(items, item{
			ref: unadmitted(&entry.Value), labels: entry.Value.Labels,
			render: func(context.Context) (shown, error) {
				rendered, err := v.renderUnadmitted(&entry.Value, entry.Revision, managed)
				return shown{body: rendered}, err
			},
		})
	}
	return items
}

func unadmitted(record *api.MemberRecord) api.ObjectRef {
	return api.ObjectRef{APIVersion: api.GroupCluster + "/v1", Kind: api.KindMemberCluster, Name: record.Name}
}

// placedByMember counts the placements each member is to hold.
func (v *View) placedByMember() map[string]int {
	placed := map[string]int{}
	for _, release := range v.records.Releases.All() {
		for i := range release.Value.Entries {
			if entry := &release.Value.Entries[i]; !entry.Withdrawn {
				placed[entry.Member]++
			}
		}
	}
	return placed
}

// Version answers who leads, of which version, and how content is sealed.
func (v *View) Version(context.Context, *struct{}) (any, error) {
	sealing, err := v.store.Sealing()
	if err != nil {
		return nil, err
	}
	return &api.VersionResponse{
		Sealing: sealing,
		Version: v.options.Version, Level: api.Level, Fleet: v.store.Conn.Fleet.Name, Leader: v.store.Term.Holder,
		Epoch: v.store.Term.Epoch, Term: v.store.Term.Term,
		Server: v.store.Conn.NC.ConnectedServerVersion(), Now: metav1.NewTime(v.store.Now()),
	}, nil
}

// Events answers what happened to an object or on a member.
func (v *View) Events(ctx context.Context, request *api.EventsRequest) (any, error) {
	limit := request.Limit
	if most := pageBytes >> 10; limit > most { // each is at most 1 KiB
		limit = most
	}
	found, err := streams.ReadEvents(ctx, v.store.Conn, streams.AuditQuery{
		Object: strings.TrimSpace(request.Object), Member: request.Member, Limit: limit, By: request.By, Before: request.Before,
	})
	if err != nil {
		return nil, fmt.Errorf("reading events: %w", err)
	}
	answer := &api.EventsResponse{Events: make([]api.Audit, len(found.Events)), Older: found.Older}
	for i := range found.Events {
		answer.Events[i] = found.Events[i].Audit
	}
	return answer, nil
}
