package guard

import (
	"time"

	"flotilla/core/api"
)

// Freezes finds the record of a scope, in force or ended; nil when there is none.
type Freezes func(scope string) *api.Freeze

// Read makes Freezes of how the record of a scope is found. One that is there and cannot be read is in force.
func Read(find func(scope string) (f api.Freeze, revision uint64, found bool, err error)) Freezes {
	return func(scope string) *api.Freeze {
		f, _, found, err := find(scope)
		switch {
		case err != nil:
			return &api.Freeze{Scope: scope, By: "somebody"}
		case !found:
			return nil
		}
		return &f
	}
}

// Of is the freeze that is in the way of some kind of changes, FreezePlacements, FreezeRuns or FreezeNodes, on every member;
// nil where none is.
func (f Freezes) Of(kind string) *api.Freeze { return f.first(api.FreezeFleet, kind) }

// On is the freeze that is in the way of them on one member, or on every one; nil where none is.
func (f Freezes) On(kind, member string) *api.Freeze {
	return f.first(api.FreezeFleet, kind, api.FreezeOf(member))
}

// OfMember is the freeze of one member alone; nil where there is none.
func (f Freezes) OfMember(member string) *api.Freeze { return f.first(api.FreezeOf(member)) }

func (f Freezes) first(scopes ...string) *api.Freeze {
	if f == nil {
		return nil
	}
	for _, scope := range scopes {
		if freeze := f(scope); freeze != nil && freeze.Ended == nil {
			return freeze
		}
	}
	return nil
}

// Thawed is when the last freeze ended that was in the way of some kind of changes on a member; zero where none did. Time
// before it is nobody's fault.
func (f Freezes) Thawed(kind, member string) (last time.Time) {
	if f == nil {
		return last
	}
	for _, scope := range []string{api.FreezeFleet, kind, api.FreezeOf(member)} {
		if freeze := f(scope); freeze != nil && freeze.Ended != nil && freeze.Ended.After(last) {
			last = freeze.Ended.Time
		}
	}
	return last
}

// Waits says of a freeze why something waits; nothing where there is none.
func Waits(f *api.Freeze) string {
	if f == nil {
		return ""
	}
	return f.String() + "; " + f.Unfreeze()
}
