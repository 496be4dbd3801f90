package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// TestFlippedBytes turns bytes over in the files of state, again and again: the hub says what is gone, leads again
// when that is accepted, and nothing else is gone.
func TestFlippedBytes(t *testing.T) {
	for n := range max(1, *runsFlag) {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			seed := *seedFlag + int64(n)
			random := rand.New(rand.NewPCG(uint64(seed), 1))
			p := plan{}
			for at := time.Second; at < 7*time.Second; at += 3 * time.Second {
				p = append(p, step{at, time.Duration(random.Int64N(int64(time.Second))), flip, "hub-0"})
			}
			campaign(t, modeSingle, seed, append(p, step{10 * time.Second, 500 * time.Millisecond, tear, "hub-0"}))
		})
	}
}

// TestAFullDisk fills the disk of the hub up under its clients, twice: what is refused is not there, what was
// acknowledged stays, and the hub goes on once there is room.
func TestAFullDisk(t *testing.T) {
	bustest.OnSmallDisk(t, func(t *testing.T, disk *bustest.Disk) {
		campaignOn(t, disk, modeSingle, *seedFlag, plan{
			{2 * time.Second, 4 * time.Second, full, "hub-0"}, {9 * time.Second, 2 * time.Second, full, "hub-0"},
		})
	})
}

// TestADamagedReplica turns bytes over on one of three servers: nothing is gone.
func TestADamagedReplica(t *testing.T) {
	for n := range max(1, *runsFlag) {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(uint64(*seedFlag+int64(n)), 2))
			p := plan{}
			for at := time.Second; at < 8*time.Second; at += 3 * time.Second {
				p = append(p, step{at, time.Duration(random.Int64N(int64(time.Second))), flip, "broker-1"})
			}
			campaign(t, modeCluster, *seedFlag+int64(n), p)
		})
	}
}

// flip kills a process, turns over 64 bytes of what it keeps of state, and starts it again. What that takes away may
// show at once, or when the server reads its files anew.
func (f *fleet) flip(t testing.TB, v *victim, s step, take *Recorder, since func() time.Duration) {
	loss := Loss{Span: Span{Began: since()}}
	v.Kill()
	blocks := blocksOf(t, f.folderOf(s.Whom))
	flipBytes(t, blocks[int(s.For)%len(blocks)], int(s.For))
	loss.Ended = since()
	at := elsewhen.Now()
	v.Start(t)
	if s.Whom != "hub-0" {
		return
	}
	if loss.Told = f.told(t, at); loss.Told != "" {
		loss.name()
		take.Note(func(h *History) { h.Losses = append(h.Losses, loss) })
		t.Logf("bytes flipped at %s: %s", loss.Ended.Round(time.Millisecond), loss.Told)
		f.mend(t, loss.Told)
	}
}

// tear is a power cut: what was written to state within a second or two before it is gone.
func (f *fleet) tear(t testing.TB, v *victim, s step, take *Recorder, since func() time.Duration) {
	state := stateFolder(t, f.folderOf(s.Whom))
	copied := filepath.Join(t.TempDir(), "torn")
	v.Stop(t) // the files are those of one moment
	// Not before: what is written while the signal is on its way is in the copy, and not gone.
	loss := Loss{Span: Span{Began: since()}, Tail: true}
	bustest.CopyFolder(t, copied, state)
	v.Continue(t)
	wait(t.Context(), time.Second+s.For/4)
	v.Kill()
	require.NoError(t, os.RemoveAll(state))
	require.NoError(t, os.Rename(copied, state))
	loss.Ended = since()
	at := elsewhen.Now()
	v.Start(t)
	loss.Told = f.told(t, at)
	loss.name()
	take.Note(func(h *History) { h.Losses = append(h.Losses, loss) })
	t.Logf("power cut at %s: %s", loss.Ended.Round(time.Millisecond), loss.Told)
	f.mend(t, loss.Told)
}

// told is what the hub, once it leads, tells of what state lost since a time; empty when it tells nothing. What a
// person had to accept the operator takes down.
func (f *fleet) told(t testing.TB, since time.Time) string {
	client := f.connect(t, "told")
	defer client.Close()
	text := ""
	bustest.EventuallyIn(t, patience, func() error {
		var status api.FleetStatus
		var found api.EventsResponse
		if err := bus.Request(t.Context(), client, api.VerbStatus, struct{}{}, &status, bus.RequestOptions{}); err != nil || status.Damage != "" {
			return fmt.Errorf("the hub does not lead: %s %w", status.Damage, err)
		}
		if err := bus.Request(t.Context(), client, api.VerbEvents, api.EventsRequest{Object: "fleet/state"}, &found, bus.RequestOptions{}); err != nil {
			return err
		}
		text = ""
		for _, e := range found.Events {
			if !e.At.Time.Before(since.Truncate(time.Second)) {
				text += e.Message + "\n"
			}
		}
		return nil
	})
	return text
}

// operate is a person who looks after the fleet: when the hub says that something is gone, its loss is accepted, and
// what may be gone is made again.
func (c *run) operate(t *testing.T, ctx context.Context) {
	person := &writer{name: "operator", conn: c.connect(t, "operator"), take: c.take, since: c.since, turns: &c.turns}
	whole := c.since()
	tick := time.NewTicker(4 * pace)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var status api.FleetStatus
		asked := c.since()
		err := bus.Request(ctx, person.conn, api.VerbStatus, struct{}{}, &status, bus.RequestOptions{Try: clientTry, Total: clientTotal})
		switch {
		case err != nil:
		case status.Damage == "":
			whole = asked
		default:
			loss := Loss{Span: Span{whole, c.since()}, Told: status.Damage}
			loss.name()
			c.take.Note(func(h *History) { h.Losses = append(h.Losses, loss) })
			t.Logf("at %s: %s", loss.Ended.Round(time.Millisecond), loss.Told)
			_ = bus.Request(ctx, person.conn, api.VerbRestore, api.RestoreRequest{AcceptLoss: true}, nil, bus.RequestOptions{})
			_ = c.restock(t, ctx, person, status.Damage) // settle tells what stays away
		}
	}
}

// restock admits all members again, and makes again what may be gone, until it is there or ctx ends, for which it tells
// what is missing. Agents of which the hub told that it does not know them any more are enrolled anew.
func (c *run) restock(t testing.TB, ctx context.Context, person *writer, told string) error {
	unknown := unknownIn(told)
	for {
		var failed []error
		for ; len(unknown) > 0; unknown = unknown[1:] {
			if err := c.fleet.enrolAnew(t, ctx, person.conn, unknown[0]); err != nil {
				failed = append(failed, err)
				break
			}
		}
		for _, member := range memberNames {
			failed = append(failed, admit(ctx, person.conn, member, person.request()))
		}
		for n := range apps {
			failed = append(failed, person.setUp(ctx, appName(n)))
		}
		if err := errors.Join(failed...); err == nil || ctx.Err() != nil {
			return err
		}
	}
}

// unknownIn are the members of whose agents it is told that they are gone.
func unknownIn(told string) (members []string) {
	for _, member := range memberNames {
		if strings.Contains(told, "identity of member "+member) {
			members = append(members, member)
		}
	}
	return members
}

// name takes from what was told which objects are gone.
func (l *Loss) name() {
	for n := range apps {
		app := appName(n)
		for _, ref := range append(contentOf(app), placementOf(app)) {
			if strings.Contains(l.Told, "not noted") || strings.Contains(l.Told, toldAs(ref)) {
				l.Objects = append(l.Objects, ref.String())
			}
		}
	}
}

// toldAs is what people call an object.
func toldAs(ref api.ObjectRef) string {
	if ref.Namespace == "" {
		return "placement " + ref.Name
	}
	return fmt.Sprintf("%s %s/%s", ref.Kind, ref.Namespace, ref.Name)
}

// folderOf is where a server keeps its data.
func (f *fleet) folderOf(process string) string {
	if process == "hub-0" {
		return f.data()
	}
	return filepath.Join(f.dir, process)
}

// stateFolder is the folder of the stream of state within the data of a server.
func stateFolder(t testing.TB, data string) string {
	t.Helper()
	name := subjects.Fleet{Name: subjects.DefaultFleet}.BucketStream(subjects.State)
	found := ""
	require.NoError(t, filepath.WalkDir(data, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.IsDir() && e.Name() == name && filepath.Base(filepath.Dir(path)) == "streams" {
			found = path
		}
		return nil // what vanishes meanwhile is not it
	}))
	require.NotEmpty(t, found)
	return found
}

// blocksOf are the files that hold the messages of state.
func blocksOf(t testing.TB, data string) []string {
	t.Helper()
	blocks, err := filepath.Glob(filepath.Join(stateFolder(t, data), "msgs", "*.blk"))
	require.NoError(t, err)
	require.NotEmpty(t, blocks)
	return blocks
}

// flipBytes turns over 64 bytes of a file, somewhere by a number.
func flipBytes(t testing.TB, path string, number int) {
	t.Helper()
	body, err := os.ReadFile(path)
	require.NoError(t, err)
	if len(body) == 0 {
		return
	}
	at := number % len(body)
	for i := at; i < min(at+64, len(body)); i++ {
		body[i] ^= 0xff
	}
	require.NoError(t, os.WriteFile(path, body, 0o600))
}
