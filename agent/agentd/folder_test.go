package agentd

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/agent/disk"
	"flotilla/agent/disk/disktest"
	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/subjects"
)

// unfit is a heartbeat of an agent that cannot write.
func unfit(h api.Heartbeat) bool { return !h.Healthy && h.Message != "" }

func fit(h api.Heartbeat) bool { return h.Healthy }

// The data directory is written into once a minute, and at once where its file system has no room, is gone, or failed before.
func TestAFolderIsWrittenIntoOnceAMinute(t *testing.T) {
	bustest.OnSmallDisk(t, func(t *testing.T, full *bustest.Disk) {
		now, again := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), 0
		f := &folder{path: filepath.Join(full.Dir, "berlin"), log: zerolog.Nop(), now: func() time.Time { return now }, again: func() { again++ }}
		require.NoError(t, os.Mkdir(f.path, 0o700))
		writes := func() bool {
			past := now.Add(-time.Hour)
			require.NoError(t, os.Chtimes(f.path, past, past))
			require.NoError(t, f.writable())
			info, err := os.Stat(f.path)
			require.NoError(t, err)
			return !info.ModTime().Equal(past)
		}
		require.True(t, writes())
		now = now.Add(writeEvery - time.Second)
		require.False(t, writes())
		now = now.Add(time.Second)
		require.True(t, writes())
		require.False(t, writes())
		now = now.Add(-time.Second)
		require.True(t, writes(), "the clock was set back")

		full.Fill()
		require.ErrorContains(t, f.writable(), "no space left on device")
		full.Free()
		require.True(t, writes())
		require.Equal(t, 1, again)
		require.NoError(t, os.Rename(f.path, f.path+".away"))
		require.ErrorContains(t, f.writable(), "no such file or directory")
		require.NoError(t, os.Rename(f.path+".away", f.path))
		require.True(t, writes())
		require.Equal(t, 2, again)
	})
}

// An agent that lost its data directory says so and works again once it is there.
func TestAnAgentThatCannotWriteSaysSo(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	o := options(t, server, "berlin")
	o.Config.DataDir = filepath.Join(t.TempDir(), "berlin")
	start(t, o)
	expect(t, store, "berlin", fit)
	require.NoError(t, os.Rename(o.Config.DataDir, o.Config.DataDir+".away"))
	require.Contains(t, expect(t, store, "berlin", unfit).Message, "the data directory "+o.Config.DataDir+" cannot be written, so no new command is followed: ")
	require.NoError(t, os.Rename(o.Config.DataDir+".away", o.Config.DataDir))
	expect(t, store, "berlin", fit)
}

// An agent says in its heartbeat that another one proves itself as the same member, and no longer than that.
func TestAnAgentWithATwinSaysSo(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	start(t, options(t, server, "berlin"))
	expect(t, store, "berlin", fit)
	other := server.Agent(t, "berlin")
	bustest.Eventually(t, func() error {
		entry, _ := store.Heartbeats.Get("berlin")
		var h api.Heartbeat
		if err := json.Unmarshal(entry.Value, &h); err != nil {
			return err
		}
		if strings.Contains(h.Message, member.ErrTwin.Error()) {
			require.False(t, h.Healthy)
			return nil
		}
		if h.AgentVersion != "twin" {
			require.NoError(t, other.PutHeartbeat(bustest.Context(t), api.Heartbeat{Healthy: true, AgentVersion: "twin"}))
		}
		return errors.New("no twin is told of: " + h.Message)
	})
	expect(t, store, "berlin", func(h api.Heartbeat) bool { return h.Healthy && h.AgentVersion != "twin" })
}

// commanded gives an agent a command that places nothing, and takes more room than the last block of a file has left.
func commanded(t *testing.T, store *store.Store, o *Options, generation, last uint64) (api.Order, uint64) {
	t.Helper()
	order := api.Order{Epoch: store.Term.Epoch, Term: store.Term.Term, Generation: generation}
	command := api.PlacementCommand{Header: api.NewHeader(api.KindPlacementCommand), Member: "berlin", Order: order}
	command.Entries = []api.IndexEntry{{Placement: "gone", UID: bustest.Noise(16 << 10), Withdrawn: true}}
	wallet, err := member.OpenWallet(member.Folder(o.Config.DataDir), o.Token)
	require.NoError(t, err)
	head := streams.CommandHead{Member: "berlin", Kind: subjects.CommandPlacement, Order: order, To: wallet.SealingKey()}
	last, err = store.Commands.Publish(bustest.Context(t), head, command, last)
	require.NoError(t, err)
	return order, last
}

// The disk of an agent is full: it follows no new command, says why, and keeps what it has whole; once there is
// room it follows the newest.
func TestAnAgentWhoseDiskIsFullGoesOnOnceThereIsRoom(t *testing.T) {
	bustest.OnSmallDisk(t, func(t *testing.T, full *bustest.Disk) {
		server := bustest.Start(t)
		store := server.Lead(t)
		o := options(t, server, "berlin")
		o.Config.DataDir, o.Token = filepath.Join(full.Dir, "berlin"), bustest.Token(t, "berlin")
		start(t, o)
		first, last := commanded(t, store, &o, 1, 0)
		expect(t, store, "berlin", func(h api.Heartbeat) bool { return h.Healthy && h.Holds == first })

		full.Fill()
		require.Contains(t, expect(t, store, "berlin", unfit).Message, "no space left on device: make room there")
		second, _ := commanded(t, store, &o, 2, last)
		require.Equal(t, first, expect(t, store, "berlin", unfit).Holds)
		var kept struct{ Command api.PlacementCommand }
		journal, key := disktest.Journal(t, o.Config.DataDir)
		require.NoError(t, journal.Sealed("index", key, o.Now).Read(&kept))
		require.Equal(t, first, kept.Command.Order)

		full.Free()
		expect(t, store, "berlin", func(h api.Heartbeat) bool { return h.Healthy && h.Holds == second })
		left, err := filepath.Glob(filepath.Join(o.Config.DataDir, disk.Temporary+"*"))
		require.NoError(t, err)
		require.Empty(t, left)
	})
}
