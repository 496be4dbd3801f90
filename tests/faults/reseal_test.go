package faults

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/flotilla/cli"
	"flotilla/hub/flotilla/cli/session"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// resealed is how many bodies are sealed anew in TestAHubIsKilledWhileItSealsAnew, which are all of one placement.
const (
	resealed     = 300
	resealedName = "sealed"
)

// TestAHubIsKilledWhileItSealsAnew kills the hub four times on the way from one secret to the next. Before the first body the former secret cannot be pruned; after the last it can, and with the new one
// alone everything is readable, also by members that it is placed on from then on. No member is given anything anew.
func TestAHubIsKilledWhileItSealsAnew(t *testing.T) {
	f := startFleet(t, modeCluster, rehearsal, nil)
	c := &run{fleet: f, began: elsewhen.Now(), take: &Recorder{}}
	conn := c.connect(t, "operator")
	f.ask(t, conn, placed(resealedName, "placed", 2, 1), namespace(resealedName))
	bodies := map[string]string{}
	for n := 0; n < resealed; n += 100 {
		var documents []json.RawMessage
		for i := n; i < n+100; i++ {
			name, value := fmt.Sprintf("body-%d", i), noise(t, 2<<10)
			bodies[name] = value
			documents = append(documents, fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":%q},"data":{"noise":%q}}`, name, resealedName, value))
		}
		f.ask(t, conn, documents...)
	}
	f.holders(t, 2)
	before := f.changes()

	code, said := f.typed(t, "secrets", "rotate", f.secrets)
	require.Equal(t, session.ExitDone, code, said)
	code, said = f.typed(t, "secrets", "prune", f.secrets)
	require.Equal(t, session.ExitRefused, code, said)
	require.Contains(t, said, "nothing was changed: content is sealed with secret")
	f.processes["hub-0"].Kill()
	f.processes["hub-1"].Kill()
	way := bustest.ProxyTo(t, f.servers[0])
	f.runHub(t, "hub-2", way.URL())
	hub := f.processes["hub-2"]
	hub.Kill()
	for _, sealed := range []int{0, 1, resealed / 2, resealed / 3} {
		held := way.HoldAfter(subjects.Fleet{Name: subjects.DefaultFleet}.BucketSubject(subjects.Content, ""), sealed)
		hub.Start(t)
		select {
		case <-held:
		case <-time.After(patience):
			require.FailNow(t, "the hub has not sealed so many anew", sealed)
		}
		hub.Kill()
		way.Cut()
		way.Release()
	}
	hub.Start(t)
	bustest.EventuallyIn(t, patience, func() error {
		if code, said := f.typed(t, "secrets", "prune", f.secrets); code != session.ExitDone {
			return errors.New(said)
		}
		return nil
	})
	hub.Kill()
	hub.Start(t)
	for name, value := range bodies {
		var found struct{ Data map[string]string }
		get := api.GetRequest{APIVersion: "v1", Kind: "ConfigMap", Namespace: resealedName, Name: name}
		require.NoError(t, bus.Request(t.Context(), conn, api.VerbGet, get, &found, bus.RequestOptions{}))
		require.Equal(t, value, found.Data["noise"], name)
	}
	f.holders(t, 2)
	require.Equal(t, before, f.changes(), "nothing was applied anew")
	f.ask(t, conn, placed(resealedName, "everywhere", 3, 1))
	f.holders(t, 3)
	for member, objects := range before {
		require.Equal(t, objects, f.changes()[member], member)
	}
}

// noise is a text of so many bytes that does not compress.
func noise(t testing.TB, size int) string {
	t.Helper()
	raw := make([]byte, size/2)
	_, err := rand.Read(raw)
	require.NoError(t, err)
	return hex.EncodeToString(raw)
}

// ask applies documents.
func (f *fleet) ask(t testing.TB, conn *bus.Conn, documents ...json.RawMessage) {
	t.Helper()
	r := api.ApplyRequest{Request: noise(t, 20), Documents: documents}
	require.NoError(t, bus.Request(t.Context(), conn, api.VerbApply, r, nil, bus.RequestOptions{}))
}

// typed types a command as the first admin.
func (f *fleet) typed(t testing.TB, words ...string) (code int, said string) {
	t.Helper()
	var out bytes.Buffer
	env := session.OSEnvironment(elsewhen.Now)
	env.Out, env.Err, env.In = &out, &out, strings.NewReader("")
	code = cli.Main(t.Context(), append([]string{"--url", f.clients.URL(), "--creds", f.creds}, words...), env)
	return code, out.String()
}

// holders waits until so many members hold all bodies.
func (f *fleet) holders(t testing.TB, members int) {
	t.Helper()
	bustest.EventuallyIn(t, patience, func() error {
		holding := map[string]int{}
		for member, objects := range f.changes() {
			holding[member] = len(objects)
		}
		whole := 0
		for _, n := range holding {
			if n == resealed {
				whole++
			}
		}
		if whole != members {
			return fmt.Errorf("%d members are to hold %d bodies, and they hold %v", members, resealed, holding)
		}
		return nil
	})
}

// changes are when each body on each member was written last, and its uid there.
func (f *fleet) changes() map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, member := range memberNames {
		if _, err := os.Stat(f.folder(member)); err != nil {
			continue
		}
		for _, kept := range readKept(f.folder(member)) {
			if strings.HasPrefix(kept.Object.Metadata.Name, "body-") {
				if all[member] == nil {
					all[member] = map[string]string{}
				}
				all[member][kept.Object.Metadata.Name] = kept.Object.Metadata.UID + " " + kept.Changed.Format(time.RFC3339Nano)
			}
		}
	}
	return all
}
