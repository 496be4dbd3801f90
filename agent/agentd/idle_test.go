package agentd

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/subjects"
)

// goroutinesOfAgent is how many of an agent there may be while nothing happens, whatever is placed on its member, beside
// those of its connection: two of the worker, two of upgrades, three of nodes, the heart, the renewal of its credentials,
// and the file of faults.
const goroutinesOfAgent = 10

// An agent that has nothing to do is few goroutines, and holds nothing in memory of what was placed.
func TestAnIdleAgentIsFewGoroutines(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	o := options(t, server, "berlin")
	o.Config.DataDir, o.Token = filepath.Join(t.TempDir(), "berlin"), bustest.Token(t, "berlin")
	a := start(t, o)
	expect(t, store, "berlin", func(h api.Heartbeat) bool { return h.Healthy })
	const placements = 100
	placed(t, store, &o, placements)
	bustest.Eventually(t, func() error {
		if objects := len(a.Memory().Objects()); objects < 3*placements {
			return fmt.Errorf("%d objects", objects)
		}
		if running := ofAgents(); len(running) > goroutinesOfAgent {
			return fmt.Errorf("%d goroutines:\n%s", len(running), strings.Join(running, "\n\n"))
		}
		return nil
	})
	require.NoError(t, a.Stop())
	bustest.Eventually(t, func() error { // what has returned is there for a moment still
		if left := ofAgents(); len(left) > 0 {
			return fmt.Errorf("%d goroutines are left:\n%s", len(left), strings.Join(left, "\n\n"))
		}
		return nil
	})
}

// ofAgents are the goroutines of agents, but for the one that watches the files of all of a process.
func ofAgents() (out []string) {
	text := make([]byte, 4<<20)
	for one := range strings.SplitSeq(string(text[:runtime.Stack(text, true)]), "\n\n") {
		if strings.Contains(one, "flotilla/agent/") && !strings.Contains(one, "disk.(*watches).follow") && !strings.Contains(one, "testing.tRunner") {
			out = append(out, one)
		}
	}
	return out
}

// placed has n placements of three objects each on the member of an agent.
func placed(t *testing.T, store *store.Store, o *Options, n int) {
	t.Helper()
	order := api.Order{Epoch: store.Term.Epoch, Term: store.Term.Term, Generation: 1}
	command := api.PlacementCommand{Header: api.NewHeader(api.KindPlacementCommand), Member: "berlin", Order: order}
	for i := range n {
		var manifests []api.Manifest
		for _, kind := range []string{"ConfigMap", "Secret", "ServiceAccount"} {
			body := fmt.Sprintf(`{"apiVersion":"v1","kind":%q,"metadata":{"name":"o%d","namespace":"default"}}`, kind, i)
			ref := api.ObjectRef{APIVersion: "v1", Kind: kind, Namespace: "default", Name: fmt.Sprint("o", i)}
			manifests = append(manifests, api.Manifest{ObjectRef: ref, Digest: bustest.Put(t, store, []byte(body))})
		}
		work := bustest.PutWork(t, store, manifests)
		command.Entries = append(command.Entries, api.IndexEntry{
			Placement: fmt.Sprintf("p%03d", i), UID: "u", Generation: 1, Snapshot: 1, Work: work, Piece: store.Keys.Piece(work),
		})
	}
	wallet, err := member.OpenWallet(member.Folder(o.Config.DataDir), o.Token)
	require.NoError(t, err)
	head := streams.CommandHead{Member: "berlin", Kind: subjects.CommandPlacement, Order: order, To: wallet.SealingKey()}
	_, err = store.Commands.Publish(bustest.Context(t), head, command, 0)
	require.NoError(t, err)
}
