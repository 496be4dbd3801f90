// Package house tests the whole house: real hub processes that are killed, agents over TCP, members in
// memory whose own history of operations is the witness.
package house

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/uuid"

	"flotilla/agent/agentd"
	"flotilla/agent/target"
	"flotilla/agent/target/memory"
	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/tests/elsewhen"
	"flotilla/tests/rig"
)

const patience = 60 * time.Second

// The binaries are built once for all tests of the package.
var hubBinary, agentBinary, cliBinary string

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "flotilla-house-")
	if err == nil {
		hubBinary, agentBinary, cliBinary = filepath.Join(folder, "hub"), filepath.Join(folder, "agent"), filepath.Join(folder, "flotilla")
		err = rig.Build(folder, nil, "flotilla/hub", "flotilla/agent", "flotilla/hub/flotilla")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "building the binaries under test:", err)
		os.Exit(1)
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "4"); err != nil { // they wait for leases more than they compute
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

func newProcess(t *testing.T, path string, args ...string) *rig.Process {
	t.Helper()
	return rig.Start(t, nil, path, args...)
}

// house is a hub in a child process with agents and members in this one.
type house struct {
	dir, url string
	inspects string // credentials to look at streams with, those of the hub in dir when empty
	hub      *rig.Process
	client   *bus.Conn
	members  map[string]*memory.Member
	agents   map[string]*agentd.Agent
	// now is the clock of the agents and members in this process.
	now func() time.Time
}

func newHouse(t *testing.T, members ...string) *house {
	t.Helper()
	return newHouseWith(t, nil, members...)
}

// newHouseWith is a house whose hub is started with more arguments.
func newHouseWith(t *testing.T, more []string, members ...string) *house {
	t.Helper()
	port := bustest.FreePort(t)
	h := &house{now: elsewhen.Now, dir: t.TempDir(), url: "nats://127.0.0.1:" + port, members: map[string]*memory.Member{}, agents: map[string]*agentd.Agent{}}
	arguments := []string{"--data", filepath.Join(h.dir, "hub"), "--port", port, "--log-level", "info", "--deletion-timeout", "3s"}
	h.hub = newProcess(t, hubBinary, append(arguments, more...)...)
	h.connect(t)
	t.Cleanup(func() {
		if t.Failed() {
			h.show(t)
		}
		for name := range h.agents {
			h.stopAgent(t, name)
		}
		for _, m := range h.members {
			m.Close()
		}
	})
	for _, name := range members {
		h.members[name] = memory.New(memory.Options{Name: name, Nodes: nodes(t), Clock: memory.Running(h.now)})
		h.startAgent(t, name)
	}
	return h
}

func nodes(t *testing.T) []target.Node {
	t.Helper()
	node, err := target.NewNode("node", "64", "256Gi")
	require.NoError(t, err)
	return []target.Node{node}
}

// connect waits until the hub answers, as the operator.
func (h *house) connect(t *testing.T) {
	t.Helper()
	bustest.EventuallyIn(t, patience, func() error {
		client, err := bus.ConnectClient(bustest.Context(t), bus.Options{
			URL: h.url, Creds: filepath.Join(h.dir, "hub", "operator.creds"), Name: "test", Log: zerolog.Nop(),
		})
		h.client = client
		return err
	})
	t.Cleanup(h.client.Close)
}

// show logs what a person would look at to find out why a test failed.
func (h *house) show(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, line := range []string{
		"status", "get members", "get placements", "get nodes", "get nodepools", "get disruptions", "get runs", "plan nodes", "events", "get disruptions -o json",
	} {
		out, code := h.run(ctx, strings.Fields(line)...)
		t.Logf("$ flotilla %s (exit %d)\n%s", line, code, out)
	}
}

// flotilla runs the command line and returns what it prints and the code it ends with.
func (h *house) flotilla(t *testing.T, args ...string) (string, int) {
	t.Helper()
	return h.run(t.Context(), args...)
}

func (h *house) run(ctx context.Context, args ...string) (string, int) {
	command := exec.CommandContext(ctx, cliBinary, append(args, "--url", h.url, "--creds", filepath.Join(h.dir, "hub", "operator.creds"))...)
	command.Env = append(os.Environ(), "NO_COLOR=1", "NATS_URL=", "NATS_CREDS=", "NATS_CONTEXT=")
	out, _ := command.CombinedOutput()
	return string(out), command.ProcessState.ExitCode()
}

func (h *house) request(t *testing.T, verb string, request, response any) error {
	t.Helper()
	return bus.Request(t.Context(), h.client, verb, request, response, bus.RequestOptions{})
}

// apply applies YAML and returns what became of each document.
func (h *house) apply(t *testing.T, yaml string) api.ApplyResponse {
	t.Helper()
	documents, err := configs.Parse("test", []byte(yaml))
	require.NoError(t, err)
	request := api.ApplyRequest{Request: string(uuid.NewUUID())}
	for _, d := range documents {
		request.Documents = append(request.Documents, d.JSON)
	}
	var response api.ApplyResponse
	require.NoError(t, h.request(t, api.VerbApply, request, &response))
	return response
}

// tryToApply applies YAML, or says why it was refused.
func (h *house) tryToApply(t *testing.T, yaml string) error {
	t.Helper()
	documents, err := configs.Parse("test", []byte(yaml))
	require.NoError(t, err)
	request := api.ApplyRequest{Request: string(uuid.NewUUID())}
	for _, d := range documents {
		request.Documents = append(request.Documents, d.JSON)
	}
	return h.request(t, api.VerbApply, request, nil)
}

// folder is where the agent of a member keeps what it needs.
func (h *house) folder(member string) string { return filepath.Join(h.dir, "agents", member) }

// token is what an agent enrols with that did not yet, nil for others.
func (h *house) token(t *testing.T, name string) *api.Token {
	t.Helper()
	enrolled, err := member.Enrolled(member.Folder(h.folder(name)))
	require.NoError(t, err)
	if enrolled != "" {
		return nil
	}
	return h.newToken(t, name)
}

func (h *house) newToken(t *testing.T, member string) *api.Token {
	t.Helper()
	var answer api.EnrolResponse
	require.NoError(t, h.request(t, api.VerbEnrol, api.EnrolRequest{Name: member}, &answer))
	return &answer.Token
}

// startAgent starts the agent of a member, for the first time or again, and admits the member.
func (h *house) startAgent(t *testing.T, name string) {
	t.Helper()
	h.startAgentWith(t, name, h.token(t, name))
	h.apply(t, "apiVersion: cluster.kubernetes-fleet.io/v1\nkind: MemberCluster\nmetadata: {name: "+name+"}\n")
}

func (h *house) startAgentWith(t *testing.T, name string, token *api.Token) {
	t.Helper()
	config := configs.DefaultAgent()
	config.Member, config.Bus = name, configs.Bus{URL: h.url}
	config.DataDir = h.folder(name)
	config.HeartbeatInterval = configs.Duration(time.Second)
	config.Upgrade.Memory.ControlPlane = configs.Duration(10 * time.Millisecond)
	config.Upgrade.Memory.NodePool = configs.Duration(10 * time.Millisecond)
	quickNodes(&config.Nodes)
	agent, err := agentd.New(agentd.Options{
		Config: config, Token: token, Target: h.members[name], PollEvery: 2 * time.Second, Log: zerolog.Nop(), Now: h.now,
	})
	require.NoError(t, err)
	require.NoError(t, agent.Start(context.WithoutCancel(t.Context())))
	h.agents[name] = agent
}

func (h *house) stopAgent(t *testing.T, name string) {
	t.Helper()
	require.NoError(t, h.agents[name].Stop())
	delete(h.agents, name)
}

func (h *house) placement(t *testing.T, name string) (*api.Placement, error) {
	t.Helper()
	var raw json.RawMessage
	if err := h.request(t, api.VerbGet, api.GetRequest{Kind: api.KindClusterResourcePlacement, Name: name}, &raw); err != nil {
		return nil, err
	}
	var p api.Placement
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, err
	}
	if p.Status == nil {
		return nil, fmt.Errorf("%s has no status yet", name)
	}
	return &p, nil
}

// converged waits until a placement runs its newest content on so many members.
func (h *house) converged(t *testing.T, name string, members int) {
	t.Helper()
	bustest.EventuallyIn(t, patience, func() error {
		p, err := h.placement(t, name)
		if err != nil {
			return err
		}
		c := p.Status.Counts
		if c.Picked != members || c.Current != members || c.Available != members || c.Failed > 0 {
			return fmt.Errorf("%s: %+v, expected all of %d members", name, c, members)
		}
		return nil
	})
}
