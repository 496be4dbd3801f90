package worker

import (
	"context"
	"fmt"
	"sync"

	"flotilla/core/api"
)

// memberOrder is the order of the newest command that an agent acted on, as the member remembers it. The disk of this agent may be a copy
// from before: what it wants may have been deleted or changed since.
type memberOrder struct {
	mu     sync.Mutex
	order  api.Order
	fault  error     // why the member could not be asked
	wanted api.Order // that it was to remember then
}

// olderError says that the disk of the agent is older than the member.
type olderError struct{ disk, member api.Order }

func (e *olderError) Error() string {
	return fmt.Sprintf("the member follows command %s, and the agent knows %s, an older one: nothing is written before the hub has said what is to be there now; "+
		"where no hub knows of %s any more, type kubectl -n flotilla-system delete configmap member", e.member, e.disk, e.member)
}

// newest is the later of an order and the one that the member is known to remember.
func (m *memberOrder) newest(order api.Order) api.Order {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.order.Compare(order) > 0 {
		return m.order
	}
	return order
}

// follow has the member remember an order before the agent acts on it. The error is an olderError where the member remembers a later one;
// begins says that it is the first after orders that were not older.
func (m *memberOrder) follow(ctx context.Context, at Objects, order api.Order) (begins bool, err error) {
	newest, err := at.Follow(ctx, order)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault, m.wanted = err, order
	if err != nil {
		return false, err
	}
	before := m.order
	m.order = newest
	if newest.Compare(order) > 0 {
		return before != newest, &olderError{disk: order, member: newest}
	}
	return false, nil
}

// trouble says why nothing is written by a command of that order, nil when nothing is in the way.
func (m *memberOrder) trouble(order api.Order) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.order.Compare(order) > 0 {
		return &olderError{disk: order, member: m.order}
	}
	if m.wanted != order { // it was not asked about that yet
		return nil
	}
	return m.fault
}
