package show

import (
	"slices"
	"time"

	"flotilla/core/api"
	"flotilla/subjects"
)

// Remains are what a deletion waits for.
type Remains struct {
	// Names are the members, or for a member the placements, that have not confirmed.
	Names []string
	// Standing counts the entries of releases that are not withdrawn yet. While there are any the spec
	// must stay, however long ago it was deleted: it says whether objects go or are left where they are.
	Standing int
	// Since is when the last of them was withdrawn, zero when none was.
	Since time.Time
}

func (r *Remains) add(name string, entry *api.ReleaseEntry) {
	r.Names = append(r.Names, name)
	if !entry.Withdrawn {
		r.Standing++
		return
	}
	r.Since = Later(r.Since, entry.Since.Time)
}

// Later is the later of two times.
func Later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// Remains are what the deletion of a placement or member waits for.
func (v *View) Remains(kind, name string, stored *api.Spec) (Remains, error) {
	if kind == subjects.KindMember {
		return v.RemainsOn(name)
	}
	var left Remains
	release, _, found, err := v.records.Releases.Find(name)
	if err != nil {
		return left, err
	}
	if !found {
		left.Names, err = v.unreleased(stored, name)
		return left, err
	}
	for i := range release.Entries {
		if release.Entries[i].UID == stored.UID {
			left.add(release.Entries[i].Member, &release.Entries[i])
		}
	}
	return left, nil
}

// RemainsOn are the placements that a leaving member still holds as far as the hub knows.
func (v *View) RemainsOn(member string) (Remains, error) {
	var left Remains
	releases, err := v.records.Releases.FindAll()
	if err != nil {
		return left, err
	}
	for _, release := range releases {
		entries := release.Value.Entries
		at := slices.IndexFunc(entries, func(e api.ReleaseEntry) bool { return e.Member == member })
		if at >= 0 {
			left.add(release.Name, &entries[at])
		}
	}
	return left, nil
}

// unconfirmedMembers are those that a deleted placement waits for, for people.
func (v *View) unconfirmedMembers(stored *api.Spec, name string) []string {
	left, _ := v.Remains(subjects.KindPlacement, name, stored) // what is broken is a problem of its own
	return left.Names
}

// unreleased are members that were picked and whose release is still to be written.
func (v *View) unreleased(stored *api.Spec, name string) ([]string, error) {
	schedule, _, found, err := v.records.Schedules.Find(name)
	if err != nil || !found || schedule.UID != stored.UID {
		return nil, err
	}
	var members []string
	for i := range schedule.Bindings {
		members = append(members, schedule.Bindings[i].Member)
	}
	return members, nil
}
