package agentd

import (
	"context"
	"fmt"
	"time"

	"flotilla/agent/beat"
	"flotilla/bus/member"
	"flotilla/bus/probe"
)

// missedBeats is how many heartbeats may be missing.
const missedBeats = 3

// readiness is what has to be well for the hub to be able to use the agent.
func (a *Agent) readiness(conn *member.Conn, folder *folder, b *beat.Beat) []probe.Check {
	most := missedBeats * time.Duration(a.o.Config.HeartbeatInterval)
	return []probe.Check{
		{Name: "connection", Run: func(context.Context) error { return conn.Up() }},
		{Name: "credentials", Run: func(context.Context) error { return conn.Refused() }},
		{Name: "folder", Run: func(context.Context) error { return folder.writable() }},
		{Name: "heartbeat", Run: func(context.Context) error {
			stored := b.Stored()
			if stored.IsZero() {
				return fmt.Errorf("the hub has no heartbeat of member %s from this agent yet", a.Member())
			}
			if age := conn.Now().Sub(stored); age > most {
				return fmt.Errorf("the last heartbeat was stored %s ago, the limit is %s", age.Round(time.Second), most)
			}
			return nil
		}},
	}
}
