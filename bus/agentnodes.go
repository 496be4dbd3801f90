package bus

import (
	"context"
	"encoding/json"
	"fmt"

	"flotilla/core/api"
	"flotilla/subjects"
)

// NodeEvent reads back the newest state of a node that the server has of this member. ErrNotFound when
// it has none.
func (a *AgentConn) NodeEvent(ctx context.Context, node string) (api.NodeEvent, error) {
	return readEvent[api.NodeEvent](ctx, a, nodeBounds, "state of node "+node, a.conn.Fleet.NodeEvent(a.member, node))
}

// NodeInventory reads back the newest inventory of nodes that the server has of this member. ErrNotFound
// when it has none.
func (a *AgentConn) NodeInventory(ctx context.Context) (api.NodeInventory, error) {
	return readEvent[api.NodeInventory](ctx, a, inventoryBounds, "inventory of nodes", a.conn.Fleet.NodeInventory(a.member))
}

func readEvent[T any](ctx context.Context, a *AgentConn, within bounds, what, subject string) (value T, err error) {
	m, err := a.conn.direct(ctx, a.conn.Fleet.Stream(subjects.Events), subject)
	if err == nil {
		m.value, err = within.unpack(m.value)
	}
	if err == nil {
		err = json.Unmarshal(m.value, &value)
	}
	if err != nil {
		return value, fmt.Errorf("reading back the %s: %w", what, err)
	}
	return value, nil
}
