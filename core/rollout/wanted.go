package rollout

import (
	"slices"
	"strings"

	"flotilla/core/api"
)

// wanted is what a member is to be given of the newest snapshot.
type wanted struct {
	// known says that it is decided; why says what keeps the member from being given it.
	known     bool
	work      string
	overrides []api.OverrideVersion
	why       string
	// failed says that overrides cannot be followed there.
	failed bool
}

// shut says that the member holds nothing and is given nothing, for overrides cannot be followed there.
func (s *slot) shut() bool { return s.want.failed && s.joining() && s.entry == nil }

// unrendered is why a member waits for the renderer.
const unrendered = "waits: what overrides make of the snapshot is not rendered yet"

// aim finds what each member is to be given.
func (r *rollout) aim() {
	if of := r.in.Rendered; of != nil && len(r.in.Overrides) > 0 && of.UID == string(r.in.Placement.UID) &&
		of.Snapshot == r.latest.Index && of.Base == r.latest.Work && slices.Equal(of.Overrides, r.in.Overrides) {
		r.rendered = of
	}
	for _, s := range r.slots {
		s.want = r.wantedOf(s.member)
	}
}

func (r *rollout) wantedOf(member string) wanted {
	if len(r.in.Overrides) == 0 {
		return wanted{known: true, work: r.latest.Work}
	}
	if r.rendered == nil {
		return wanted{why: unrendered}
	}
	all := r.rendered.Members
	i, found := slices.BinarySearchFunc(all, member, func(m api.RenderedMember, name string) int { return strings.Compare(m.Member, name) })
	if !found {
		return wanted{why: unrendered}
	}
	want := wanted{known: true, work: all[i].Work}
	for _, at := range all[i].Overrides {
		if at >= 0 && at < len(r.rendered.Overrides) {
			want.overrides = append(want.overrides, r.rendered.Overrides[at])
		}
	}
	if want.work == "" {
		want.failed, want.why = true, all[i].Failure
	}
	return want
}

// sameAtOnce says that two lists hold the same of those whose changes go out at once.
func sameAtOnce(a, b []api.OverrideVersion) bool {
	later := func(v api.OverrideVersion) bool { return !v.AtOnce }
	if !slices.ContainsFunc(a, func(v api.OverrideVersion) bool { return v.AtOnce }) && !slices.ContainsFunc(b, func(v api.OverrideVersion) bool { return v.AtOnce }) {
		return true
	}
	return slices.Equal(slices.DeleteFunc(slices.Clone(a), later), slices.DeleteFunc(slices.Clone(b), later))
}
