package bus

import (
	"context"

	"flotilla/core/api"
)

// AgentConn is the connection of one member's agent. It needs no consumer: raw publish and direct get
// only, all within subjects.Fleet.AgentPermissions.
type AgentConn struct{}

// ConnectAgent connects as the agent of member ("flotilla-agent/<member>/<version>") and returns at
// once: it connects in the background, for ever, with jitter.
func ConnectAgent(ctx context.Context, o Options, member string) (*AgentConn, error) {
	return nil, errUnbuilt
}

// Member is the member's name.
func (a *AgentConn) Member() string { return "" }

// Connected says that the connection is up now.
func (a *AgentConn) Connected() bool { return false }

// OnConnect calls f each time the connection came up, the first time included.
func (a *AgentConn) OnConnect(f func()) {}

// Close closes the connection.
func (a *AgentConn) Close() {}

// PutHeartbeat stores the heartbeat and returns when the server has it.
func (a *AgentConn) PutHeartbeat(ctx context.Context, h api.Heartbeat) error { return errUnbuilt }

// PutResult stores the result of one command kind and name ("placement", "web"). ErrTooLarge above
// 16 KiB.
func (a *AgentConn) PutResult(ctx context.Context, kind, name string, result any) error {
	return errUnbuilt
}

// Command reads the member's newest command of a kind and its sequence. ErrNotFound when there never
// was one.
func (a *AgentConn) Command(ctx context.Context, kind string) (body []byte, sequence uint64, err error) {
	return nil, 0, errUnbuilt
}

// Content reads and verifies a body. ErrNotFound (not there yet), ErrCorrupt.
func (a *AgentConn) Content(ctx context.Context, digest string) ([]byte, error) {
	return nil, errUnbuilt
}

// OnHint calls f, on a goroutine of the connection, when a newer command is announced.
func (a *AgentConn) OnHint(f func(kind string, sequence uint64)) error { return errUnbuilt }
