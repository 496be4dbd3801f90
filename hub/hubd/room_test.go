package hubd_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/disk"
	"flotilla/bus/server"
	"flotilla/bus/store"
	"flotilla/configs/secrets"
	"flotilla/core/api"
	"flotilla/hub/hubd"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// keptBy asks a hub to keep a ConfigMap.
func keptBy(t *testing.T, c *bus.Conn, name string, dry bool) error {
	t.Helper()
	weight := make([]byte, 10<<10)
	_, _ = rand.Read(weight)
	document := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":"shop"},"data":{"of":%q,"weight":%q}}`,
		name, name, hex.EncodeToString(weight)) // more than the rest of a page, also once it is compressed
	request := api.ApplyRequest{Request: name, Documents: []json.RawMessage{json.RawMessage(document)}, DryRun: dry}
	return bus.Request(t.Context(), c, api.VerbApply, request, nil, bus.RequestOptions{Total: 15 * time.Second, Try: 6 * time.Second})
}

// kept is what a hub keeps of a ConfigMap.
func kept(t *testing.T, c *bus.Conn, name string) error {
	t.Helper()
	var shown struct{ Data map[string]string }
	ask := api.GetRequest{Kind: "ConfigMap", Namespace: "shop", Name: name}
	err := bus.Request(t.Context(), c, api.VerbGet, ask, &shown, bus.RequestOptions{Total: 5 * time.Second, Try: time.Second})
	if err == nil && shown.Data["of"] != name {
		err = fmt.Errorf("%s holds %v", name, shown.Data)
	}
	return err
}

// noRoom is the failure of a request that found no room.
func noRoom(t *testing.T, err error) *api.Failure {
	t.Helper()
	failure, refused := errors.AsType[*api.Failure](err)
	require.True(t, refused, "%v", err)
	require.Equal(t, api.CodeNoRoom, failure.Code, failure.Message)
	return failure
}

// Before the disk is full the hub stores nothing more, says how much room there is and how much there has to
// be, and goes on at once when there is. What is deleted goes all the same, and plans need no room.
func TestNothingIsStoredBeforeTheDiskIsFull(t *testing.T) {
	var free atomic.Int64
	free.Store(1 << 30)
	o := embedded(t, "hub")
	o.Disk.Reserve = 300 << 20
	o.Disk.Statfs = func(string) (disk.Space, error) { return disk.Space{Free: free.Load(), Total: 20 << 30}, nil }
	h := start(t, o)
	leading(t, h)
	c := client(t, h)
	require.NoError(t, keptBy(t, c, "a", false))

	free.Store(12 << 20)
	want := o.Server.Dir + " has 12 MiB free of 20 GiB, 300 MiB are kept in reserve: make room, or delete objects; the hub goes on by itself once there is"
	require.Equal(t, "nothing was stored: "+want, noRoom(t, keptBy(t, c, "b", false)).Message)
	require.NoError(t, keptBy(t, c, "b", true))
	var status api.FleetStatus
	require.NoError(t, bus.Request(t.Context(), c, api.VerbStatus, nil, &status, bus.RequestOptions{}))
	require.Equal(t, []api.Problem{{Object: "hub/hub", Reason: "NoRoom", Message: want, Next: "df -h " + o.Server.Dir}}, status.Problems)
	gone := api.DeleteRequest{Request: "d", Object: api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "a"}}
	require.NoError(t, bus.Request(t.Context(), c, api.VerbDelete, gone, nil, bus.RequestOptions{}))

	free.Store(300 << 20)
	require.NoError(t, keptBy(t, c, "b", false))
	require.NoError(t, kept(t, c, "b"))
}

// The last eighth of the stream of records is for what stops, ends or removes something: with records in all of the rest nothing more is
// stored, a fleet is frozen, and what is deleted makes room.
func TestTheLastRecordsAreForWhatStops(t *testing.T) {
	const heavy = 40
	running := bustest.Start(t)
	o := hubd.Options{Now: elsewhen.Now, Fleet: bustest.Fleet, Name: "first", Log: running.Log(), Bus: running.TCP(), Secrets: secrets.Source{Text: bustest.Secrets}}
	first := start(t, o)
	leading(t, first)
	c := running.Client(t)
	for i := range heavy {
		weight := make([]byte, 6<<10)
		_, _ = rand.Read(weight)
		placement := fmt.Sprintf(`{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ClusterResourcePlacement","metadata":{"name":"heavy%d","annotations":{"a":%q}},
			"spec":{"resourceSelectors":[{"group":"","version":"v1","kind":"Namespace","name":"none"}]}}`, i, hex.EncodeToString(weight))
		request := api.ApplyRequest{Request: fmt.Sprint("heavy", i), Documents: []json.RawMessage{json.RawMessage(placement)}}
		require.NoError(t, bus.Request(t.Context(), c, api.VerbApply, request, nil, bus.RequestOptions{}))
	}
	first.Stop()

	hub := running.Hub(t)
	stream, err := hub.JS.Stream(t.Context(), hub.Fleet.BucketStream(subjects.State))
	require.NoError(t, err)
	config, held := stream.CachedInfo().Config, int64(stream.CachedInfo().State.Bytes)
	config.MaxBytes = held + held/8
	_, err = hub.JS.UpdateStream(t.Context(), config)
	require.NoError(t, err)
	o.Name = "second"
	second := start(t, o)
	leading(t, second)
	c = running.Client(t)
	bustest.Eventually(t, func() error { // it looks how full streams are while it begins to lead
		err := keptBy(t, c, "b", false)
		if err == nil {
			return errors.New("it is stored")
		}
		require.Regexp(t, "^nothing was stored: stream "+config.Name+" has .* free of .*, .* are kept in reserve: make room, or delete objects; ", noRoom(t, err).Message)
		return nil
	})
	var status api.FleetStatus
	require.NoError(t, bus.Request(t.Context(), c, api.VerbStatus, nil, &status, bus.RequestOptions{}))
	require.True(t, slices.ContainsFunc(status.Problems, func(p api.Problem) bool { return p.Reason == "NoRoom" && p.Next == "nats stream info "+config.Name }), "%+v", status.Problems)
	freeze := api.FreezeRequest{Request: "f", Scope: "fleet", Reason: "a flood of placements"}
	require.NoError(t, bus.Request(t.Context(), c, api.VerbFreeze, freeze, nil, bus.RequestOptions{}))
	freeze.Request = "u"
	require.NoError(t, bus.Request(t.Context(), c, api.VerbUnfreeze, freeze, nil, bus.RequestOptions{}))
	for i := range heavy {
		gone := api.DeleteRequest{Request: fmt.Sprint("d", i), Object: api.ObjectRef{APIVersion: "placement.kubernetes-fleet.io/v1", Kind: api.KindClusterResourcePlacement, Name: fmt.Sprint("heavy", i)}}
		require.NoError(t, bus.Request(t.Context(), c, api.VerbDelete, gone, nil, bus.RequestOptions{}))
	}
	second.Stop()
	o.Name = "third"
	leading(t, start(t, o))
	require.NoError(t, keptBy(t, running.Client(t), "b", false))
}

// Inodes that are used up are room that is short: the hub stores nothing more, is not ready, says with the folder that
// it is inodes, and goes on at once when there are some. A file system that counts none has no such limit.
func TestNothingIsStoredBeforeInodesAreUsedUp(t *testing.T) {
	var inodes, all atomic.Int64
	all.Store(1 << 20)
	inodes.Store(1 << 20)
	o := embedded(t, "hub")
	o.Metrics = "127.0.0.1:0"
	o.Disk.Statfs = func(string) (disk.Space, error) {
		return disk.Space{Free: 19 << 30, Total: 20 << 30, FreeFiles: inodes.Load(), TotalFiles: all.Load()}, nil
	}
	h := start(t, o)
	leading(t, h)
	c := client(t, h)
	require.NoError(t, keptBy(t, c, "a", false))

	inodes.Store(0)
	want := o.Server.Dir + " has 0 inodes free of 1048576, 1000 are kept in reserve: make room by removing files there, " +
		"or keep the folder on a file system with more inodes; the hub goes on by itself once there is"
	require.Equal(t, "nothing was stored: "+want, noRoom(t, keptBy(t, c, "b", false)).Message)
	require.NoError(t, keptBy(t, c, "b", true))
	var status api.FleetStatus
	require.NoError(t, bus.Request(t.Context(), c, api.VerbStatus, nil, &status, bus.RequestOptions{}))
	require.Equal(t, []api.Problem{{Object: "hub/hub", Reason: "NoRoom", Message: want, Next: "df -i " + o.Server.Dir}}, status.Problems)
	code, body := bustest.Get(t, "http://"+h.MetricsAddress()+"/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Contains(t, body, "[-]disk failed: "+want)

	inodes.Store(1000)
	require.NoError(t, keptBy(t, c, "b", false))
	inodes.Store(0)
	_ = noRoom(t, keptBy(t, c, "d", false))
	all.Store(0)
	require.NoError(t, keptBy(t, c, "d", false))
	code, body = bustest.Get(t, "http://"+h.MetricsAddress()+"/readyz")
	require.Equal(t, http.StatusOK, code, body)
}

// The same on a file system whose inodes are really used up: everything that was acknowledged is there afterwards.
func TestInodesThatAreUsedUpAreNamed(t *testing.T) {
	bustest.OnSmallDisk(t, func(t *testing.T, disk *bustest.Disk) {
		o := embedded(t, "hub")
		o.Metrics = "127.0.0.1:0"
		o.Server.Dir = filepath.Join(disk.Dir, "hub")
		h := start(t, o)
		leading(t, h)
		c := client(t, h)
		require.NoError(t, keptBy(t, c, "a", false))

		others := useUp(t, disk.Dir)
		failure := noRoom(t, keptBy(t, c, "b", false))
		require.Contains(t, failure.Message, o.Server.Dir+" has ")
		require.Contains(t, failure.Message, "inodes free of")
		code, body := bustest.Get(t, "http://"+h.MetricsAddress()+"/readyz")
		require.Equal(t, http.StatusServiceUnavailable, code)
		require.Contains(t, body, "inodes free of")

		require.NoError(t, os.RemoveAll(others))
		bustest.EventuallyIn(t, time.Minute, func() error { return keptBy(t, c, "c", false) })
		require.NoError(t, kept(t, c, "a"))
		require.NoError(t, kept(t, c, "c"))
	})
}

// useUp makes files in a folder of its own until there are no inodes any more.
func useUp(t *testing.T, dir string) string {
	t.Helper()
	others := filepath.Join(dir, "others")
	require.NoError(t, os.Mkdir(others, 0o700))
	for i := 0; ; i++ {
		f, err := os.Create(filepath.Join(others, strconv.Itoa(i)))
		if err != nil {
			require.ErrorIs(t, err, syscall.ENOSPC)
			return others
		}
		require.NoError(t, f.Close())
	}
}

// The disk fills up at once, under everything that writes. The server stops storing; whoever asks is told why,
// also while nobody leads. Once there is room the hub restarts its server and goes on, with all that it ever
// acknowledged.
func TestAServerThatStoppedForWantOfRoomIsRestarted(t *testing.T) {
	bustest.OnDisks(t, func(t *testing.T, disk *bustest.Disk) {
		o := embedded(t, "hub")
		o.Server.Dir = filepath.Join(disk.Dir, "hub")
		o.Disk.Reserve = 1 << 20
		o.Lead = store.LeadOptions{TTL: 4 * time.Second, Renew: 300 * time.Millisecond, Margin: time.Second, Poll: 100 * time.Millisecond}
		h := start(t, o)
		leading(t, h)
		c := client(t, h)
		require.NoError(t, keptBy(t, c, "a", false))
		url := h.Server().URL()

		disk.Fill()
		failure := noRoom(t, keptBy(t, c, "b", false))
		require.Contains(t, failure.Message, "nothing was stored: ")
		requireNotLeading(t, h)
		failure = noRoom(t, bus.Request(t.Context(), c, api.VerbStatus, nil, nil, bus.RequestOptions{}))
		require.Contains(t, failure.Message, "the NATS server of the hub stores nothing any more")
		_ = noRoom(t, keptBy(t, c, "b", false))

		disk.Free()
		bustest.EventuallyIn(t, time.Minute, func() error { return keptBy(t, c, "c", false) })
		require.NoError(t, kept(t, c, "a"))
		require.NoError(t, kept(t, c, "c"))
		require.Equal(t, url, h.Server().URL(), "agents find it where it was")
	})
}

// requireNotLeading waits until the lease is over.
func requireNotLeading(t *testing.T, h *hubd.Hub) {
	t.Helper()
	bustest.EventuallyIn(t, time.Minute, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if h.WaitLeading(ctx) == nil {
			return errors.New("the hub still leads")
		}
		return nil
	})
}

// Servers that others run are not the hub's to restart: it names the one that is, and goes on after that.
func TestAServerOfOthersThatStoppedIsNamed(t *testing.T) {
	bustest.OnDisks(t, func(t *testing.T, disk *bustest.Disk) {
		server := bustest.Start(t, func(o *server.Options) { o.Dir = filepath.Join(disk.Dir, "nats") })
		h := start(t, hubd.Options{Fleet: bustest.Fleet, Name: "hub", Log: embedded(t, "").Log, Bus: server.TCP(), Secrets: secrets.Source{Text: bustest.Secrets}})
		leading(t, h)
		c := server.Client(t)
		require.NoError(t, keptBy(t, c, "a", false))

		disk.Fill()
		tried := 0
		bustest.EventuallyIn(t, 2*time.Minute, func() error {
			tried++
			err := keptBy(t, c, fmt.Sprint("b", tried), false)
			if err == nil || !strings.Contains(err.Error(), "then restart nats-server flotilla-test") {
				return fmt.Errorf("answered %w", err)
			}
			return nil
		})
		disk.Free()
		server.Restart(t)
		bustest.EventuallyIn(t, time.Minute, func() error { return keptBy(t, c, "c", false) })
		bustest.EventuallyIn(t, time.Minute, func() error { return kept(t, c, "a") })
	})
}

// placing asks a hub to keep a placement with an annotation of one letter, which takes little of the stream.
func placing(t *testing.T, c *bus.Conn, name string, length int) error {
	t.Helper()
	placement := fmt.Sprintf(`{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ClusterResourcePlacement","metadata":{"name":%q,"annotations":{"a":%q}},
		"spec":{"resourceSelectors":[{"group":"","version":"v1","kind":"Namespace","name":"none"}]}}`, name, strings.Repeat("a", length))
	request := api.ApplyRequest{Request: "r" + rand.Text(), Documents: []json.RawMessage{json.RawMessage(placement)}}
	return bus.Request(t.Context(), c, api.VerbApply, request, nil, bus.RequestOptions{})
}

// unplacing asks a hub to delete one.
func unplacing(t *testing.T, c *bus.Conn, name string) error {
	t.Helper()
	gone := api.DeleteRequest{Request: "r" + rand.Text(), Object: api.ObjectRef{APIVersion: "placement.kubernetes-fleet.io/v1", Kind: api.KindClusterResourcePlacement, Name: name}}
	return bus.Request(t.Context(), c, api.VerbDelete, gone, nil, bus.RequestOptions{})
}

// Records that take next to nothing where they are stored are bounded by what they take in memory: beyond seven eighths of that nothing
// more is stored, and it says what there is, who takes most, and what to do. The fleet is frozen all the same, and what is deleted makes
// room at once. A hub that begins with more than it may have begins, refuses, and goes on once there is room.
func TestRecordsTakeSoMuchMemory(t *testing.T) {
	const limit = 8 << 20
	running := bustest.Start(t)
	o := hubd.Options{Now: elsewhen.Now, Fleet: bustest.Fleet, Name: "first", Log: running.Log(), Bus: running.TCP(), Secrets: secrets.Source{Text: bustest.Secrets}, Disk: hubd.Disk{Records: limit}}
	first := start(t, o)
	leading(t, first)
	c := running.Client(t)
	maps := strings.Repeat(`{"":0},`, 50_000) + "0"
	override := `{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ClusterResourceOverride","metadata":{"name":"maps"},"spec":{"clusterResourceSelectors":[{"group":"","version":"v1","kind":"Namespace","name":"none"}],
		"policy":{"overrideRules":[{"overrideType":"JSONPatch","jsonPatchOverrides":[{"op":"add","path":"/metadata/x","value":[` + maps + `]}]}]}}}`
	err := bus.Request(t.Context(), c, api.VerbApply, api.ApplyRequest{Request: "maps", Documents: []json.RawMessage{json.RawMessage(override)}}, nil, bus.RequestOptions{})
	require.Regexp(t, `^nothing was stored: the memory for records, with 2\d MiB for what is asked, has 0 bytes free of 8\.0 MiB, 1\.0 MiB are kept in reserve: `, noRoom(t, err).Message)

	placed := 0
	for ; ; placed++ {
		require.Less(t, placed, limit/(200<<10), "it is refused before that")
		if err = placing(t, c, fmt.Sprint("heavy", placed), 200<<10); err != nil {
			break
		}
	}
	require.Greater(t, placed, 10)
	refused := `^nothing was stored: the memory for records.* has .* free of \d\.0 MiB, .* are kept in reserve: \d+\.\d MiB are in use, most of it by placement \(\d+\.\d MiB in \d+\), .*: ` +
		`make room by deleting some of them, or start the hub with a larger --records-limit; the hub goes on by itself once there is$`
	require.Regexp(t, refused, noRoom(t, err).Message)
	hub := running.Hub(t)
	stream, err := hub.JS.Stream(t.Context(), hub.Fleet.BucketStream(subjects.State))
	require.NoError(t, err)
	require.Less(t, int64(stream.CachedInfo().State.Bytes), int64(limit/16), "which is no room of the stream")
	require.NoError(t, unplacing(t, c, "heavy0"))
	bustest.Eventually(t, func() error { return placing(t, c, "again", 100<<10) })
	first.Stop()

	o.Name, o.Disk.Records = "second", limit/2
	second := start(t, o)
	leading(t, second)
	c = running.Client(t)
	require.Regexp(t, refused, noRoom(t, placing(t, c, "b", 10)).Message)
	bustest.Eventually(t, func() error {
		var status api.FleetStatus
		err := bus.Request(t.Context(), c, api.VerbStatus, nil, &status, bus.RequestOptions{})
		if !slices.ContainsFunc(status.Problems, func(p api.Problem) bool {
			return p.Reason == "NoRoom" && p.Next == "flotilla events stream/records-in-memory"
		}) ||
			!slices.ContainsFunc(status.Problems, func(p api.Problem) bool { return p.Object == "stream/records-in-memory" }) {
			return fmt.Errorf("%+v: %w", status.Problems, err)
		}
		return nil
	})
	freeze := api.FreezeRequest{Request: "f", Scope: "fleet", Reason: "a flood of placements"}
	require.NoError(t, bus.Request(t.Context(), c, api.VerbFreeze, freeze, nil, bus.RequestOptions{}))
	freeze.Request = "u"
	require.NoError(t, bus.Request(t.Context(), c, api.VerbUnfreeze, freeze, nil, bus.RequestOptions{}))
	for i := 1; i < placed; i++ {
		require.NoError(t, unplacing(t, c, fmt.Sprint("heavy", i)))
	}
	bustest.Eventually(t, func() error { return placing(t, c, "b", 10) })
}
