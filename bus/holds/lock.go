// Package holds keeps members to one operation at a time.
package holds

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/subjects"
)

// Locks are the locks of members: at most one operation changes a member at a time, whichever room it
// is of. A lock is taken and given back in the same batch as the record that says so.
type Locks struct {
	table *store.Records[api.MemberLock]
}

// LocksOf returns the locks, for a room that takes them.
func LocksOf(a *store.Access) *Locks { return &Locks{store.Writes[api.MemberLock](a, subjects.Locks)} }

// Take returns the write that takes a member's lock for an operation; it conflicts while anybody holds
// it. Owner names what the operation is part of, for people: "run web-1".
func (l *Locks) Take(member, operation, owner string, at time.Time) store.Op {
	return l.Pass(member, operation, owner, at, 0)
}

// Pass is Take in the place of a lock that is held, of that revision.
func (l *Locks) Pass(member, operation, owner string, at time.Time, revision uint64) store.Op {
	return l.table.Put(member, &api.MemberLock{
		Header: api.NewHeader(api.KindLock), Member: member, Holder: operation, Owner: owner, Since: metav1.NewTime(at),
	}, revision)
}

// Release returns the write that gives a member's lock back; false when the operation does not hold it.
func (l *Locks) Release(member, operation string) (store.Op, bool) {
	lock, revision, found := l.table.Get(member)
	if !found || lock.Holder != operation {
		return store.Op{}, false
	}
	return l.table.Delete(member, revision), true
}

// Get returns the lock of a member.
func (l *Locks) Get(member string) (api.MemberLock, bool) {
	lock, _, found := l.table.Get(member)
	return lock, found
}

// All returns all locks, sorted by member.
func (l *Locks) All() []store.Entry[api.MemberLock] { return l.table.All() }

// OnChange registers f, called with the member of each lock that was taken or given back, and at once
// for every lock there is. It must not block.
func (l *Locks) OnChange(f func(member string)) { l.table.OnChange(f) }
