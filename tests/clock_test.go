package tests

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/agent/disk"
	"flotilla/agent/disk/disktest"
	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/hub/dev"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// away is how far from every other clock the one of this file is.
const away = 1000 * 24 * time.Hour

func shifted() time.Time { return elsewhen.Now().Add(away) }

// A fleet that is told it is another year works as in this one, and whatever any part of it wrote, on the
// broker or on a disk, says that year.
func TestEveryPartGoesByTheClockItIsGiven(t *testing.T) {
	var dir string
	s := newSliceWith(t, func(o *dev.Options) {
		o.Hub.Now, dir = shifted, o.Hub.Server.Dir
		soon := configs.Duration(20 * time.Millisecond)
		for i := range o.Members {
			m := &o.Members[i]
			m.HeartbeatInterval = configs.Duration(time.Second)
			m.Upgrade.Memory.ControlPlane, m.Upgrade.Memory.NodePool = soon, soon
			m.Nodes.Interval, m.Nodes.LeastDrain = soon, soon
			m.Nodes.Memory = configs.NodesMemory{LaunchTime: soon, ReadyAfter: soon, DeleteTime: soon}
			m.Target.Memory.Nodes[0].NodePool = "general"
		}
	}, "berlin", "oslo")
	s.apply(fmt.Sprintf(shop, "1", 2))
	s.apply("apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: general}\nspec: {disruption: {consolidateAfter: Never}}\n")
	s.converges("web", 2, "1")
	s.drains("berlin", "n-1")
	s.upgrades("1.36.9")
	found := map[string][]time.Time{}
	s.stored(found)
	onDisk(t, filepath.Join(dir, "members"), found)
	for _, where := range []string{
		"member.", "spec.", "snapshot.", "release.", "status.", "run.", "disruption.", "identity.", "term", // the rooms of the hub
		"result berlin.", "result oslo.", "inventory", "nodes", "audit", // agents, and what is told of them
		"object berlin",
	} {
		require.True(t, spoken(found, where), "nothing with a time was found under %q, of %d places", where, len(found))
	}
	for where, times := range found {
		for _, at := range times {
			require.WithinDuration(t, shifted(), since(where, at), 6*time.Hour, "%s goes by another clock", where)
		}
	}
}

// since is when credentials or a token were made that end at a time, and any other time itself.
func since(where string, at time.Time) time.Time {
	if strings.HasPrefix(where, "identity.") || strings.Contains(where, "audit.member.") || strings.Contains(where, "act.member.") {
		for _, life := range []time.Duration{api.CredentialsLife, api.TokenLife} {
			if at.Sub(shifted()) > life-6*time.Hour {
				return at.Add(-life)
			}
		}
	}
	return at
}

func spoken(found map[string][]time.Time, prefix string) bool {
	for where := range found {
		if strings.HasPrefix(where, prefix) {
			return true
		}
	}
	return false
}

// drains deletes a node of a member and waits until it is gone.
func (s *slice) drains(member, node string) {
	s.t.Helper()
	bustest.EventuallyIn(s.t, 20*time.Second, func() error {
		request := api.DeleteNodeRequest{Request: "drain", Member: member, Node: node}
		return bus.Request(s.t.Context(), s.fleet.Client, api.VerbDeleteNode, request, nil, bus.RequestOptions{})
	})
	bustest.EventuallyIn(s.t, 30*time.Second, func() error {
		nodes, err := s.memory(member).Nodes(s.t.Context())
		for _, n := range nodes {
			if n.Name == node {
				err = fmt.Errorf("%s is still there", node)
			}
		}
		return err
	})
}

// upgrades brings all members to a version by a run.
func (s *slice) upgrades(version string) {
	s.t.Helper()
	s.apply(fmt.Sprintf(`apiVersion: flotilla.io/v1alpha1
kind: UpdateRun
metadata: {name: r1}
spec:
  upgrade: {type: Full, kubernetesVersion: %s}
  strategy: {stages: [{name: all, memberSelector: {byLabel: ""}, afterStageWaitInSeconds: 1}]}
`, version))
	s.ask(api.VerbRunStart, api.RunRequest{Request: "start", Run: "r1"}, nil)
	bustest.EventuallyIn(s.t, 30*time.Second, func() error {
		var run api.UpdateRun
		err := bus.Request(s.t.Context(), s.fleet.Client, api.VerbGet, api.GetRequest{Kind: api.KindUpdateRun, Name: "r1"}, &run, bus.RequestOptions{})
		if err == nil && (run.Status == nil || run.Status.Status.State != api.StateCompleted) {
			text, _ := json.Marshal(run.Status)
			err = fmt.Errorf("%s", text)
		}
		return err
	})
}

// moment is a time in a text.
var moment = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)

func note(found map[string][]time.Time, where string, text []byte) {
	for _, word := range moment.FindAllString(string(text), -1) {
		if at, err := time.Parse(time.RFC3339, word); err == nil && !at.IsZero() {
			found[where] = append(found[where], at)
		}
	}
}

// stored notes the times in all that lies on the broker, and in the objects of the members.
func (s *slice) stored(found map[string][]time.Time) {
	s.t.Helper()
	server := s.fleet.Hub.Server()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	c, err := bus.ConnectHub(ctx, bus.Options{Fleet: "test", URL: server.URL(), Creds: server.HubCreds(), Name: "reader", Log: zerolog.Nop()})
	require.NoError(s.t, err)
	defer c.Close()
	for _, asset := range subjects.Assets() {
		stream, err := c.JS.Stream(ctx, asset.StreamName(c.Fleet))
		require.NoError(s.t, err)
		for sequence := stream.CachedInfo().State.FirstSeq; sequence <= stream.CachedInfo().State.LastSeq; sequence++ {
			m, err := stream.GetMsg(ctx, sequence)
			if err != nil { // replaced by a newer one
				require.ErrorIs(s.t, err, jetstream.ErrMsgNotFound)
				continue
			}
			if asset.Short == subjects.Content {
				continue // what people wrote
			}
			body, err := bus.Unpack(m.Data)
			require.NoError(s.t, err, m.Subject)
			note(found, place(c, asset, m.Subject), body)
		}
	}
	for _, member := range s.fleet.Members() {
		for _, object := range s.memory(member).Objects() {
			text, err := json.Marshal(object)
			require.NoError(s.t, err)
			note(found, "object "+member+" "+object.GetKind()+"/"+object.GetName(), text)
		}
	}
}

// place is a subject as people speak of it.
func place(c *bus.Conn, asset subjects.Asset, subject string) string {
	switch asset.Short {
	case subjects.State:
		return strings.TrimPrefix(subject, c.Fleet.BucketSubject(subjects.State, ""))
	case subjects.Heartbeat, subjects.Result:
		return asset.Short + " " + strings.TrimPrefix(subject, c.Fleet.BucketSubject(asset.Short, ""))
	case subjects.Audit:
		return "audit " + subject
	}
	for _, kind := range []string{"inventory", "nodes", "node"} {
		if strings.Contains(subject+".", "."+kind+".") {
			return kind + " " + subject
		}
	}
	return asset.Short + " " + subject
}

// inJournal notes the times in the journal of an agent: of its results, and of when each of its values was put.
func inJournal(t *testing.T, path string, found map[string][]time.Time) {
	t.Helper()
	journal, key := disktest.Journal(t, filepath.Dir(path))
	for name, written := range journal.Names("") {
		found["journal "+name] = append(found["journal "+name], written)
		if !strings.HasPrefix(name, "result/") {
			continue
		}
		sealed, err := journal.Get(name)
		require.NoError(t, err)
		var text json.RawMessage
		require.NoError(t, disk.OpenValue(name, key, sealed, &text))
		note(found, "journal "+name, text)
	}
}

// onDisk notes the times in the files of agents.
func onDisk(t *testing.T, dir string, found map[string][]time.Time) {
	t.Helper()
	files := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		if entry.Name() == "journal" {
			inJournal(t, path, found)
			return nil
		}
		text, err := os.ReadFile(path)
		note(found, "file "+strings.TrimPrefix(path, dir), text)
		return err
	}))
	require.Positive(t, files, "agents keep nothing in %s", dir)
}
