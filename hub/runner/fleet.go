package runner

import (
	"maps"
	"reflect"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/pace"
	"flotilla/core/upgrade"
)

// fleet keeps the members as decisions see them in step with their records: changes are noted as they
// come and followed before the next decision.
type fleet struct {
	records *records
	members *upgrade.Fleet

	mu    sync.Mutex
	dirty map[string]struct{}
	freed map[string]struct{}

	warned map[string]pace.Bucket // by member, of what is wrong with their records
}

// unreadable is how often people are told that records of one member cannot be read.
var unreadable = pace.Rate{Burst: 1, Every: 10 * time.Minute}

func newFleet(r *records) *fleet {
	return &fleet{records: r, members: upgrade.NewFleet(time.LoadLocation), dirty: map[string]struct{}{}, freed: map[string]struct{}{}, warned: map[string]pace.Bucket{}}
}

// note remembers that something about a member changed.
func (f *fleet) note(member string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dirty[member] = struct{}{}
}

// noteFree remembers that the lock of a member was given back.
func (f *fleet) noteFree(member string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.freed[member] = struct{}{}
}

// take returns what was noted since it was last called.
func (f *fleet) take() (dirty, freed map[string]struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	dirty, freed = f.dirty, f.freed
	f.dirty, f.freed = map[string]struct{}{}, map[string]struct{}{}
	return dirty, freed
}

// follow reads members anew and returns the members that differ for a decision, with what is
// wrong with the records of some.
func (f *fleet) follow(dirty map[string]struct{}) (changed []string, wrong map[string]error) {
	wrong = map[string]error{}
	for name := range dirty {
		old, known := f.members.Member(name)
		facts, isMember, err := f.records.facts(name)
		if err != nil {
			wrong[name] = err // it stays as it was
			continue
		}
		switch {
		case !isMember && !known:
			continue
		case !isMember:
			f.members.Remove(name)
		default:
			if err := f.members.Set(facts); err != nil {
				wrong[name] = err
			}
			if known && sameFacts(&old.MemberFacts, &facts) {
				continue
			}
		}
		changed = append(changed, name)
	}
	return changed, wrong
}

// sameFacts compares two views of a member but for what moves all the time.
func sameFacts(a, b *upgrade.MemberFacts) bool {
	first, second := *a, *b
	if first.Reachable && second.Reachable {
		first.LastSeen, second.LastSeen = time.Time{}, time.Time{}
	}
	first.Inventory.Observed, second.Inventory.Observed = metav1.Time{}, metav1.Time{}
	return reflect.DeepEqual(&first, &second)
}

// warns says whether people are to be told what is wrong with the records of a member.
func (f *fleet) warns(member string, now time.Time) bool {
	bucket := f.warned[member]
	warns := unreadable.Take(&bucket, now)
	f.warned[member] = bucket
	if warns { // which is seldom
		maps.DeleteFunc(f.warned, func(_ string, b pace.Bucket) bool { return b.Full(now) })
	}
	return warns
}

// heard notes when the hub last heard of a member whose lock may be given up for its silence.
func (f *fleet) heard(member string, now time.Time) {
	m, found := f.members.Member(member)
	if !found || !m.Reachable {
		return
	}
	facts := m.MemberFacts
	facts.LastSeen = f.records.lastHeard(member, now)
	_ = f.members.Set(facts) // what is wrong with its schedules was told when they came
}

// refresh follows the changes of members and wakes what waits for them.
func (r *Runner) refresh() {
	dirty, freed := r.fleet.take()
	for member := range freed {
		r.wakeWaiting(member)
	}
	changed, wrong := r.fleet.follow(dirty)
	for name, err := range wrong {
		if !r.fleet.warns(name, r.options.Now()) {
			continue
		}
		r.options.Log.Warn().Err(err).Str("member", name).Msg("reading what upgrades depend on")
		r.store.Audit.Record(api.Audit{
			Object: api.AuditObject(api.AuditMember, name), Member: name, Type: "Warning", Reason: "MemberUnreadable", By: by,
			Message: err.Error() + "; its upgrades wait",
		})
	}
	if len(changed) == 0 {
		return
	}
	for _, member := range changed {
		r.wakeWaiting(member)
	}
	r.wakeProfiles()
	r.wakeUncreated()
}
