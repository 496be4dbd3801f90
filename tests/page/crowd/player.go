package crowd

import (
	"sync"
	"time"

	"github.com/nats-io/nkeys"

	"flotilla/core/api"
)

// player is the agent of a member, played.
type player struct {
	*member
	// sealing is what commands are sealed to.
	sealing nkeys.KeyPair

	mu       sync.Mutex
	sequence uint64
	now      state
	// running is the Kubernetes version of the member at the moment.
	running string
	index   index
	// due is when the player is done with what it was told of placements and has not reported of.
	due     map[string]time.Time
	upgrade upgrading
	held    shelf
	// wanted is what a test wants to come of placements.
	wanted map[string]Verdict
}

// state is what a player says of its member.
type state struct {
	healthy bool
	message string
	silent  bool
	nodes   int
}

func newPlayer(m *member) (*player, error) {
	p := &player{member: m, running: m.version, now: state{healthy: true, nodes: m.nodes}, due: map[string]time.Time{}, wanted: map[string]Verdict{}}
	if m.part == partUnwell {
		p.now.healthy, p.now.message = false, complaints[m.number%len(complaints)]
	}
	var err error
	p.sealing, err = nkeys.CreateCurveKeys()
	return p, err
}

// complaints are what agents say of API servers that do not answer as they should.
var complaints = []string{
	`the API server answers: 500 Internal Server Error: <html><body onload="alert(1)"><h1>etcdserver: request timed out</h1></body></html>`,
	`the API server does not answer: dial tcp 10.0.0.1:443: connect: connection refused`,
	`the API server answers: Unauthorized ` + markup,
}

// change changes what the player says of its member from now on.
func (p *player) change(how func(*state)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	how(&p.now)
}

// says is what the player says of its member at the moment.
func (p *player) says() state {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// heartbeat is the next one; false from who is silent.
func (p *player) heartbeat(everySeconds int, sent int64) (api.Heartbeat, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now.silent {
		return api.Heartbeat{}, false
	}
	p.sequence++
	return api.Heartbeat{
		Header: api.NewHeader(api.KindHeartbeat), Member: p.name, Boot: "boot-" + p.name, Sequence: p.sequence,
		AgentVersion: p.agentVersion(), KubernetesVersion: p.running, IntervalSeconds: everySeconds,
		Properties: p.properties(p.now.nodes), Nodes: p.now.nodes, Healthy: p.now.healthy, Message: p.now.message, Sent: sent,
	}, true
}

// agentVersion is that of a player, of one of many no version at all.
func (m *member) agentVersion() string {
	if m.number%1013 == 5 {
		return "v0.9.1-" + markup
	}
	return of(m.number%7 == 0, "v0.9.0", "v0.9.1")
}
