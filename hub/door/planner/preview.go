package planner

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	kjson "k8s.io/apimachinery/pkg/util/json"

	"flotilla/bus/placed"
	"flotilla/core/api"
	"flotilla/core/preview"
	"flotilla/core/render"
	"flotilla/core/schedule"
	"flotilla/core/strict"
	"flotilla/hub/door/draft"
	"flotilla/hub/door/records"
)

// maxShown is how many bytes of objects one preview may hold, as they are selected and as overrides change them.
const maxShown = 12 << 20

// Preview shows what a member is given of placements, or would be once documents are applied.
func (p *Planner) Preview(ctx context.Context, request *api.PreviewRequest) (any, error) {
	return planning(ctx, func(ctx context.Context) (*preview.Report, error) { return p.preview(ctx, request) })
}

func (p *Planner) preview(ctx context.Context, request *api.PreviewRequest) (*preview.Report, error) {
	if n := len(request.Documents); n > draft.MaxDocuments {
		return nil, draft.TooMany(n)
	}
	f, documents, err := p.planned(ctx, request.By, request.Documents)
	if err != nil {
		return nil, err
	}
	members, err := p.records.MembersAfter(documents.Members(), p.store.Now())
	if err != nil {
		return nil, err
	}
	s := &showing{planner: p, draft: f, fleet: schedule.NewFleet(members...)}
	if s.member, err = memberOf(members, request.Member); err != nil {
		return nil, err
	}
	var others []*render.Override
	if s.written, others, err = p.desk.Overrides(ctx, documents, hidden(request.By)); err != nil {
		return nil, err
	}
	s.overrides = slices.Concat(s.written, others)
	if hidden(request.By) {
		_, labelled := documents.Members()[s.member.Name]
		s.guessed = func(w render.Written) bool { return slices.Contains(s.written, w.Override) || labelled && w.Filled }
	}
	report := &preview.Report{Member: s.member.Name, Placements: []preview.Placement{}, Notes: api.NotesOf(f.Results)}
	wanted, err := s.wanted(request.Placement)
	if err != nil {
		return nil, err
	}
	for _, placement := range wanted {
		one, err := s.show(ctx, placement)
		if err != nil {
			return nil, err
		}
		report.Placements = append(report.Placements, one)
	}
	return report, nil
}

func memberOf(members []api.Member, name string) (*api.Member, error) {
	names := make([]string, len(members))
	for i := range members {
		if names[i] = members[i].Name; names[i] == name {
			return &members[i], nil
		}
	}
	f := &api.Failure{Code: api.CodeInvalid, Message: fmt.Sprintf("no member %s", strict.Quote(name)), Next: "flotilla get members"}
	if near := strict.Nearest(name, names); near != "" {
		f.Message += ", did you mean " + near + "?"
	}
	return nil, f
}

// showing is one preview under way.
type showing struct {
	planner *Planner
	draft   *draft.Draft
	fleet   *schedule.Fleet
	member  *api.Member
	// written are the overrides among the documents, overrides all.
	written, overrides []*render.Override
	// guessed says what whoever asks, and may not read Secrets, wrote into objects; nil for others.
	guessed func(render.Written) bool
	held    int // bytes
}

// wanted are the placements to show: the one that is named, or those that the documents are about and that go to the member, or are
// among them.
func (s *showing) wanted(named *api.ObjectRef) ([]*api.Placement, error) {
	all := s.draft.Placements()
	if named != nil {
		key := named.Name
		if named.Namespace != "" {
			key = named.Namespace + "/" + named.Name
		}
		if p := all[key]; p != nil {
			return []*api.Placement{p}, nil
		}
		return nil, records.NotFound(*named)
	}
	var wanted []*api.Placement
	for key, p := range all {
		switch {
		case s.draft.Names(key):
		case s.draft.Cut(key) == nil && !s.overridden(p), s.notPicked(p) != "":
			continue
		}
		wanted = append(wanted, p)
	}
	slices.SortFunc(wanted, func(a, b *api.Placement) int { return cmp.Compare(a.Key(), b.Key()) })
	return wanted, nil
}

// overridden says that an override among the documents changes objects of a placement.
func (s *showing) overridden(p *api.Placement) bool {
	snapshot, err := s.snapshot(p)
	return err == nil && snapshot != nil && len(render.Touching(p.Key(), snapshot.Manifests, s.written)) > 0
}

// snapshot is what goes out of a placement, or would.
func (s *showing) snapshot(p *api.Placement) (*api.Snapshot, error) {
	if cut := s.draft.Cut(p.Key()); cut != nil {
		return cut, nil
	}
	latest, _, err := placed.OutgoingSnapshot(s.planner.records.Snapshots.Table, s.planner.records.Staged, p)
	return latest, err
}

func (s *showing) notPicked(p *api.Placement) string {
	subject := s.planner.view.Subject(p)
	return preview.NotPicked(subject.Input(s.fleet, s.planner.store.Now(), s.planner.thresholds), s.member.Name)
}

// show shows one placement.
func (s *showing) show(ctx context.Context, p *api.Placement) (preview.Placement, error) {
	snapshot, err := s.snapshot(p)
	switch {
	case err != nil:
		return preview.Placement{}, err
	case snapshot == nil:
		return preview.Placement{}, &api.Failure{Code: api.CodeRefused, Message: p.Key() + ": nothing goes out of it: no snapshot was cut, or none is let out"}
	case snapshot.Error != "":
		return preview.Placement{}, &api.Failure{Code: api.CodeRefused, Message: p.Key() + ": " + snapshot.Error}
	}
	in := &preview.Input{
		Placement: p, Member: s.member, Manifests: snapshot.Manifests, Overrides: s.overrides, Keys: s.planner.store.Keys, Guessed: s.guessed,
		Body:  func(digest string) (map[string]any, error) { return s.body(ctx, digest) },
		Given: func(bytes int) error { return s.took(ctx, bytes) },
	}
	if s.draft.Cut(p.Key()) == nil {
		in.Snapshot = snapshot.Index
	}
	shown, err := preview.Show(in)
	shown.NotPicked = s.notPicked(p)
	return shown, err
}

// body reads an object that is stored, or would be.
func (s *showing) body(ctx context.Context, digest string) (object map[string]any, err error) {
	body := s.draft.Body(digest)
	if body == nil {
		if body, err = s.planner.store.Content.Get(ctx, digest); err != nil {
			return nil, err
		}
	}
	if err := s.took(ctx, len(body)); err != nil {
		return nil, err
	}
	return object, kjson.Unmarshal(body, &object)
}

// took counts bytes of objects that the preview holds, and ends it where these are too many, or nobody waits any more.
func (s *showing) took(ctx context.Context, bytes int) error {
	if s.held += bytes; s.held > maxShown {
		return &api.Failure{
			Code: api.CodeTooLarge, Next: "flotilla plan --help",
			Message: fmt.Sprintf("more than %d MiB of objects, as selected and as overrides change them: ask for one placement, or apply the overrides to fewer objects", maxShown>>20),
		}
	}
	return ctx.Err()
}
