// Package kubefleet holds examples as users of KubeFleet write them, applied as they are to one fleet of four members in
// memory: overrides, envelopes, staged runs, evictions and disruption budgets, in v1 and v1beta1. What comes of each stands
// below its commands in testdata, in the conditions, reasons and results of each member that KubeFleet's users know; where
// Flotilla decides otherwise the text of the example names the rule of docs/rules.md.
//
// Each example is also wrong once: it is applied a second time, under other names and with one mistake, and what comes of
// that stands at its end. So every example is known to be able to fail.
//
// -update writes down what comes now: review the difference as text.
package kubefleet

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/uuid"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/hub/dev"
	"flotilla/hub/hubd"
	"flotilla/tests/elsewhen"
)

var update = flag.Bool("update", false, "write down what comes of the examples now")

const patience = 60 * time.Second

// members are those of testdata/fleet.yaml.
var members = []string{"avila", "bergen", "cadiz", "delft"}

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "24"); err != nil { // they wait for each other's writes more than they compute
		panic(err)
	}
	os.Exit(m.Run())
}

// TestExamples applies every example twice, as it is and with its mistake, all of them to one fleet.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("testdata/*/case.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	fleet := startFleet(t)
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			t.Parallel()
			c := readCase(t, file)
			p := player{fleet: fleet, c: c}
			right := p.play(t)
			requireForeign(t, c)
			p.mistaken = true
			at, wrong := p.playWrong(t, right)
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(c.text(right, at, wrong)), 0o600))
			}
		})
	}
}

// requireForeign wants the documents of a case to use nothing that only Flotilla knows.
func requireForeign(t *testing.T, c *example) {
	t.Helper()
	for name, text := range c.documents {
		require.NotContains(t, text, "flotilla", "%s: KubeFleet's users know no Flotilla", name)
		require.Contains(t, text, c.names, "%s: what it names is named after the example", name)
	}
}

func startFleet(t *testing.T) *dev.Fleet {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var agents []configs.Agent
	for _, name := range members {
		agents = append(agents, agent(name))
	}
	fleet, err := dev.Start(ctx, dev.Options{
		Hub:     hubd.Options{Now: elsewhen.Now, Fleet: "default", Server: &server.Options{Dir: t.TempDir(), Port: -1, Log: zerolog.Nop()}, Log: zerolog.Nop()},
		Members: agents, Log: zerolog.Nop(),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fleet.Stop()) })
	text, err := os.ReadFile("testdata/fleet.yaml")
	require.NoError(t, err)
	require.NotContains(t, apply(t, fleet, "fleet.yaml", string(text)), "refused")
	bustest.EventuallyIn(t, patience, func() error { return ready(ctx, fleet) })
	return fleet
}

func agent(name string) configs.Agent {
	c := configs.DefaultAgent()
	c.Member = name
	c.HeartbeatInterval = configs.Duration(time.Second)
	c.Target.Memory.Nodes = []configs.Nodes{{Name: name, Count: 2, CPU: "16", Memory: "64Gi"}}
	return c
}

func ready(ctx context.Context, fleet *dev.Fleet) error {
	for _, name := range members {
		var m api.MemberCluster
		request := api.GetRequest{Kind: api.KindMemberCluster, Name: name}
		if err := bus.Request(ctx, fleet.Client, api.VerbGet, request, &m, bus.RequestOptions{}); err != nil {
			return err
		}
		if m.Status == nil || m.Status.State != api.MemberReady {
			return fmt.Errorf("member %s is not ready", name)
		}
	}
	return nil
}

// apply applies documents and says what became of each, or why they were refused.
func apply(t *testing.T, fleet *dev.Fleet, file, text string) string {
	t.Helper()
	documents, err := configs.Parse(file, []byte(text))
	require.NoError(t, err)
	request := api.ApplyRequest{Request: string(uuid.NewUUID())}
	for _, d := range documents {
		request.Documents = append(request.Documents, d.JSON)
	}
	var response api.ApplyResponse
	if err := bus.Request(t.Context(), fleet.Client, api.VerbApply, request, &response, bus.RequestOptions{}); err != nil {
		return "refused: " + err.Error()
	}
	var out strings.Builder
	for i := range response.Results {
		r := &response.Results[i]
		fmt.Fprintf(&out, "%s %s\n", r.Action, r.Object)
		for _, note := range r.Notes {
			fmt.Fprintf(&out, "  note: %s\n", note)
		}
	}
	for _, note := range response.Notes {
		fmt.Fprintf(&out, "note: %s\n", note)
	}
	return out.String()
}
