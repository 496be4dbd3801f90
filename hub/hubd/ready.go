package hubd

import (
	"context"

	"flotilla/bus/probe"
	"flotilla/bus/streams"
	"flotilla/hub/door"
)

// readiness is what has to be well for the hub to be of use: beside a leader it is, because it takes over.
func (h *Hub) readiness() []probe.Check {
	return []probe.Check{
		{Name: "connection", Run: func(context.Context) error { return h.conn.Up() }},
		{Name: "leader", Run: h.led},
		{Name: "state", Run: func(context.Context) error { return h.counted() }},
		{Name: "layout", Run: func(ctx context.Context) error { return streams.LayoutThere(ctx, h.conn) }},
		{Name: "disk", Run: h.roomy},
	}
}

// led is nil when this hub leads, or knows who does.
func (h *Hub) led(ctx context.Context) error {
	if s, _ := h.store(); s != nil {
		return nil
	}
	_, err := h.conn.Leader(ctx)
	return err
}

// counted is nil unless this hub would lead and found records of state gone.
func (h *Hub) counted() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.damaged
}

func (h *Hub) roomy(context.Context) error {
	if failure := door.NoRoom(h.warden.room()); failure != nil {
		return failure
	}
	return nil
}
