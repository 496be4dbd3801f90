package member

import (
	"context"
	"encoding/json"
	"fmt"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/subjects"
)

// NodeEvent reads back the newest state of a node that the server has of this member. ErrNotFound when
// it has none.
func (a *Conn) NodeEvent(ctx context.Context, node string) (api.NodeEvent, error) {
	return readEvent[api.NodeEvent](ctx, a, bus.NodeBounds, "state of node "+node, a.conn.Fleet.NodeEvent(a.member, node))
}

// NodeInventory reads back the newest inventory of nodes that the server has of this member. ErrNotFound
// when it has none.
func (a *Conn) NodeInventory(ctx context.Context) (api.NodeInventory, error) {
	return readEvent[api.NodeInventory](ctx, a, bus.InventoryBounds, "inventory of nodes", a.conn.Fleet.NodeInventory(a.member))
}

func readEvent[T any](ctx context.Context, a *Conn, within bus.Bounds, what, subject string) (value T, err error) {
	m, err := a.conn.Direct(ctx, a.conn.Fleet.Stream(subjects.Events), subject)
	if err == nil {
		m.Value, err = within.Unpack(m.Value)
	}
	if err == nil {
		err = json.Unmarshal(m.Value, &value)
	}
	if err != nil {
		return value, fmt.Errorf("reading back the %s: %w", what, err)
	}
	return value, nil
}
