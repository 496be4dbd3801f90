package disk_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/agent/disk"
	"flotilla/core/api"
	"flotilla/tests/elsewhen"
)

func newest(t *testing.T, path string) *disk.Newest[api.UpgradeCommand] {
	t.Helper()
	n, err := disk.OpenNewest[api.UpgradeCommand](path, api.KindUpgradeCommand, "berlin")
	require.NoError(t, err)
	return n
}

func command(t *testing.T, order api.Order, operation string) []byte {
	t.Helper()
	body, err := json.Marshal(api.UpgradeCommand{
		Header: api.NewHeader(api.KindUpgradeCommand), Member: "berlin", Order: order, Operation: &api.UpgradeOperation{ID: operation},
	})
	require.NoError(t, err)
	return body
}

// A command that was kept before is not heard: it may be of a copy. What is read from the stream is, unless it cannot be read or kept.
func TestACommandOfTheDiskIsNotHeard(t *testing.T) {
	at, older := api.Order{Epoch: 1, Term: 1, Generation: 2}, api.Order{Epoch: 1, Term: 1, Generation: 1}
	for name, c := range map[string]struct {
		body  []byte
		heard bool
	}{
		"the same":       {command(t, at, "a"), true},
		"an older one":   {command(t, older, "a"), true},
		"a newer one":    {command(t, api.Order{Epoch: 2}, "a"), true},
		"none":           {[]byte("{"), false},
		"of another":     {[]byte(`{"kind":"UpgradeCommand","member":"oslo"}`), false},
		"not to be kept": {command(t, api.Order{Epoch: 2}, "b"), false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "command.json")
			_, err := newest(t, path).Accept(command(t, at, "a"), elsewhen.Now())
			require.NoError(t, err)
			n := newest(t, path)
			require.False(t, n.Heard())
			if name == "not to be kept" {
				require.NoError(t, os.RemoveAll(dir))
			}
			_, _ = n.Accept(c.body, elsewhen.Now())
			require.Equal(t, c.heard, n.Heard())
		})
	}
}

func TestOnlyTheNewestCommandIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "command.json")
	n := newest(t, path)
	_, have := n.Command()
	require.False(t, have)
	require.Zero(t, n.Order())
	last := api.Order{Epoch: 2, Term: 1, Generation: 1}
	for _, step := range []struct {
		name, operation string
		order           api.Order
		changed         bool
		err             error
	}{
		{"the first", "a", api.Order{Epoch: 1, Term: 5, Generation: 7}, true, nil},
		{"again", "a", api.Order{Epoch: 1, Term: 5, Generation: 7}, false, nil},
		{"equal order, other content", "b", api.Order{Epoch: 1, Term: 5, Generation: 7}, true, nil},
		{"older generation", "c", api.Order{Epoch: 1, Term: 5, Generation: 6}, false, disk.ErrOlder},
		{"older term", "c", api.Order{Epoch: 1, Term: 4, Generation: 99}, false, disk.ErrOlder},
		{"newer term, lower generation", "d", api.Order{Epoch: 1, Term: 6, Generation: 1}, true, nil},
		{"older epoch", "e", api.Order{Term: 9, Generation: 9}, false, disk.ErrOlder},
		{"newer epoch, lower term", "f", last, true, nil},
	} {
		before := n.Received()
		now := before.Add(time.Hour)
		changed, err := n.Accept(command(t, step.order, step.operation), now)
		require.ErrorIs(t, err, step.err, step.name)
		require.Equal(t, step.changed, changed, step.name)
		require.Equal(t, step.changed, n.Received().After(before), step.name)
	}
	for _, n := range []*disk.Newest[api.UpgradeCommand]{n, newest(t, path)} {
		c, have := n.Command()
		require.True(t, have)
		require.Equal(t, "f", c.Operation.ID)
		require.Equal(t, last, n.Order())
		_, err := n.Accept(command(t, api.Order{Epoch: 1}, "g"), elsewhen.Now())
		require.ErrorIs(t, err, disk.ErrOlder)
	}
}

func TestWhatIsNoCommandOfTheMemberIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "command.json")
	n := newest(t, path)
	for body, want := range map[string]string{
		`{`: "reading the UpgradeCommand",
		`{"kind":"UpgradeCommand","member":"oslo"}`: `is a "UpgradeCommand" for member "oslo", expected a UpgradeCommand for berlin`,
		`{"kind":"Heartbeat","member":"berlin"}`:    `is a "Heartbeat"`,
	} {
		_, err := n.Accept([]byte(body), elsewhen.Now())
		require.ErrorContains(t, err, want)
	}
	require.NoFileExists(t, path)

	require.NoError(t, os.WriteFile(path, []byte(`{"command":`), 0o600))
	_, err := disk.OpenNewest[api.UpgradeCommand](path, api.KindUpgradeCommand, "berlin")
	require.ErrorContains(t, err, "command.json", "a command that cannot be read is not none")
}

func TestACommandThatCannotBeKeptIsNotFollowed(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "gone")
	require.NoError(t, os.Mkdir(folder, 0o700))
	n := newest(t, filepath.Join(folder, "command.json"))
	require.NoError(t, os.RemoveAll(folder))
	_, err := n.Accept(command(t, api.Order{Epoch: 1}, "a"), elsewhen.Now())
	require.ErrorContains(t, err, "keeping the UpgradeCommand")
	_, have := n.Command()
	require.False(t, have)
}
