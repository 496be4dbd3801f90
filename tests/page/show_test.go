//go:build page

package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/configs"
	"flotilla/configs/examples"
	"flotilla/core/api"
	"flotilla/hub/dev"
	"flotilla/hub/hubd"
	"flotilla/tests/elsewhen"
)

// show is the fleet that the pictures of docs/page.md are of: the eight members of configs/examples and sixteen like them,
// with all examples placed, a run that waits at its gate, and some things wrong, as they are in fleets.
type show struct {
	t     *testing.T
	fleet *dev.Fleet
	asked int
}

// shown are the members beside those of the examples, each like one of them, with what is wrong with it.
var shown = []struct{ name, like, fault string }{
	{"antwerp", "berlin", ""},
	{"bergen", "oslo", ""},
	{"boston", "cluster1", ""},
	{"chicago", "cluster1", ""},
	{"denver", "cluster2", ""},
	{"florence", "lyon", ""},
	{"gdansk", "berlin", ""},
	{"hamburg", "berlin", "stuck=Deployment/shopping-cart/cart"},
	{"helsinki", "oslo", ""},
	{"kyoto", "osaka", ""},
	{"limerick", "dublin", ""},
	{"madrid", "lyon", silent},
	{"porto", "lyon", "fail=Deployment/web-frontend/frontend"},
	{"sapporo", "osaka", ""},
	{"seattle", "cluster2", ""},
	{"vienna", "berlin", ""},
}

// silent is the fault of a member whose agent does not run.
const silent = "silent"

func startShow(t *testing.T) *show {
	t.Helper()
	members := showMembers(t)
	fleet, err := dev.Start(bustest.Context(t), dev.Options{
		Log: zerolog.Nop(), Members: members,
		Hub: hubd.Options{
			Server: &server.Options{Dir: t.TempDir(), Port: -1}, Log: zerolog.Nop(), Now: elsewhen.Now, Page: hubd.Page{Site: hubd.Site{Address: "127.0.0.1:0"}},
			Policy: hubd.Policy{MemberTimeout: 6 * time.Second, Grace: time.Second},
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fleet.Stop()) })
	h := &show{t: t, fleet: fleet}
	require.NoError(t, fleet.AdmitExamples(bustest.Context(t)))
	h.admit(members[len(members)-len(shown):])
	h.ready(len(members))
	h.examples("*.yaml", "nodes/catalog-*.yaml", "nodes/class.yaml", "nodes/pool-workers.yaml", "upgrades/catalog.yaml", "upgrades/maintenance.yaml", "upgrades/strategy.yaml", "upgrades/run.yaml")
	h.upgrade("to-1-36-4")
	h.steer()
	return h
}

// showMembers are the agents of all members, those of the examples first.
func showMembers(t *testing.T) []configs.Agent {
	t.Helper()
	members, err := dev.ExampleMembers()
	require.NoError(t, err)
	like := map[string]configs.Agent{}
	for i := range members {
		m := &members[i]
		m.HeartbeatInterval = configs.Duration(time.Second)
		m.Target.Memory.Keep, m.Target.Memory.ReadyAfter = false, 0
		m.Upgrade.Memory.ControlPlane, m.Upgrade.Memory.NodePool = configs.Duration(50*time.Millisecond), configs.Duration(50*time.Millisecond)
		like[m.Member] = *m
	}
	for _, one := range shown {
		m := like[one.like]
		m.Member, m.Labels, m.Target.Memory.Nodes = one.name, maps.Clone(m.Labels), slices.Clone(m.Target.Memory.Nodes)
		for i := range m.Target.Memory.Nodes {
			m.Target.Memory.Nodes[i].Name = one.name
		}
		if one.fault != "" && one.fault != silent {
			m.Target.Memory.Faults = []string{one.fault}
		}
		members = append(members, m)
	}
	return members
}

// admit makes members of the fleet, with the labels of their agents.
func (h *show) admit(members []configs.Agent) {
	h.t.Helper()
	documents := make([]json.RawMessage, len(members))
	for i := range members {
		var err error
		documents[i], err = json.Marshal(map[string]any{
			"apiVersion": api.GroupCluster + "/v1", "kind": api.KindMemberCluster,
			"metadata": map[string]any{"name": members[i].Member, "labels": members[i].Labels, "annotations": map[string]string{"flotilla.io/agent-labels": "fleet.azure.com/*"}},
		})
		require.NoError(h.t, err)
	}
	h.apply(documents)
}

func (h *show) ask(verb string, question, answer any) error {
	return bus.Request(bustest.Context(h.t), h.fleet.Client, verb, question, answer, bus.RequestOptions{})
}

// id is that of a request.
func (h *show) id() string {
	h.asked++
	return fmt.Sprintf("show-%d", h.asked)
}

func (h *show) apply(documents []json.RawMessage) {
	h.t.Helper()
	require.NoError(h.t, h.ask(api.VerbApply, api.ApplyRequest{Request: h.id(), Documents: documents}, nil))
}

// examples applies files of configs/examples.
func (h *show) examples(patterns ...string) {
	h.t.Helper()
	for _, pattern := range patterns {
		files, err := fs.Glob(examples.Files, pattern)
		require.NoError(h.t, err)
		require.NotEmpty(h.t, files, pattern)
		var documents []json.RawMessage
		for _, file := range files {
			text, err := fs.ReadFile(examples.Files, file)
			require.NoError(h.t, err)
			parsed, err := configs.Parse(file, text)
			require.NoError(h.t, err)
			for i := range parsed {
				documents = append(documents, parsed[i].JSON)
			}
		}
		h.apply(documents)
	}
}

// ready waits until so many members are Ready, with what there is on them.
func (h *show) ready(want int) {
	h.t.Helper()
	bustest.Eventually(h.t, func() error {
		var answer api.ListResponse
		if err := h.ask(api.VerbList, api.ListRequest{Kind: api.KindMemberCluster}, &answer); err != nil {
			return err
		}
		ready := 0
		for _, item := range answer.Items {
			if m := read[api.MemberCluster](h.t, item); m.Status != nil && m.Status.State == api.MemberReady && m.Status.Inventory != nil {
				ready++
			}
		}
		if ready != want {
			return fmt.Errorf("%d members of %d are ready", ready, want)
		}
		return nil
	})
}

// upgrade starts a run whatever windows say, and waits until it comes to the gate behind its first stage.
func (h *show) upgrade(run string) {
	h.t.Helper()
	started := false
	bustest.Eventually(h.t, func() error {
		if !started {
			err := h.ask(api.VerbRunStart, api.RunRequest{Request: "start", Run: run, IgnoreMaintenanceWindows: true, Reason: "agreed with the owners of all stages"}, nil)
			started = err == nil
			return err
		}
		var at api.UpdateRun
		if err := h.ask(api.VerbGet, api.GetRequest{APIVersion: api.VersionFlotilla, Kind: api.KindUpdateRun, Name: run}, &at); err != nil {
			return err
		}
		if at.Status == nil || at.Status.Finished == 0 || at.Status.Stages[0].AfterGates[0].Status.State != api.StatePending {
			return errors.New("it has not come to its gate")
		}
		return nil
	})
}

// steer has people do what they do, and one agent fall silent.
func (h *show) steer() {
	h.t.Helper()
	web := api.ObjectRef{Kind: api.KindClusterResourcePlacement, Name: "crp-pickn-01"}
	require.NoError(h.t, h.ask(api.VerbRolloutPause, api.RolloutRequest{Request: h.id(), Object: web, Reason: "errors in the north, see INC-4711"}, nil))
	require.NoError(h.t, h.ask(api.VerbFreeze, api.FreezeRequest{Request: h.id(), Scope: api.FreezeOf("gdansk"), Reason: "its racks move until noon"}, nil))
	taints, err := json.Marshal(map[string]any{"spec": map[string]any{"taints": []api.Taint{{Key: api.TaintCordoned, Effect: api.EffectNoSchedule}}}})
	require.NoError(h.t, err)
	dublin := api.ObjectRef{APIVersion: api.GroupCluster + "/v1", Kind: api.KindMemberCluster, Name: "dublin"}
	require.NoError(h.t, h.ask(api.VerbPatch, api.PatchRequest{Request: h.id(), Object: dublin, Patch: taints}, nil))
	for _, one := range shown {
		if one.fault == silent {
			require.NoError(h.t, h.fleet.StopAgent(one.name))
			bustest.Eventually(h.t, func() error {
				var m api.MemberCluster
				if err := h.ask(api.VerbGet, api.GetRequest{Kind: api.KindMemberCluster, Name: one.name}, &m); err != nil || m.Status.State != api.MemberUnknown {
					return fmt.Errorf("%s is not silent yet: %w", one.name, err)
				}
				return nil
			})
		}
	}
}
