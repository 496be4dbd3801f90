package disk_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/agent/disk"
	"flotilla/core/api"
	"flotilla/core/seal"
)

var errOfTest = errors.New("no change")

// renamed is a command whose operation is that of the last change.
func renamed(c api.UpgradeCommand, changes [][]byte) (api.UpgradeCommand, error) {
	for _, body := range changes {
		var next api.UpgradeCommand
		if err := json.Unmarshal(body, &next); err != nil {
			return c, errOfTest
		}
		c.Order, c.Operation = next.Order, next.Operation
	}
	return c, nil
}

func newestIn(j *disk.Journal) (*disk.Newest[api.UpgradeCommand], error) {
	key := []byte(strings.Repeat("k", seal.KeyBytes))
	return disk.NewestIn(j, "command", key, func() time.Time { return then }, api.KindUpgradeCommand, "berlin", renamed)
}

// amend makes a change of the newest command.
func amend(t *testing.T, n *disk.Newest[api.UpgradeCommand], generation uint64, operation string, now time.Time) error {
	t.Helper()
	body := command(t, api.Order{Epoch: 1, Generation: generation}, operation)
	held, _ := n.Command()
	next, err := renamed(held, [][]byte{body})
	require.NoError(t, err)
	return n.Amend(next, [][]byte{body}, now)
}

// What was changed is what is read again, by changes alone; with another command those of the one before are gone.
func TestChangesAreKeptBesideTheirCommand(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := journal(t, path)
	n, err := newestIn(j)
	require.NoError(t, err)
	require.ErrorIs(t, amend(t, n, 1, "too early", then), disk.ErrOlder)
	_, err = n.Accept(command(t, api.Order{Epoch: 1, Generation: 1}, "whole "+strings.Repeat("long ", 1000)), then)
	require.NoError(t, err)
	for i := range 12 {
		require.NoError(t, amend(t, n, uint64(i+2), fmt.Sprintf("change %d", i), then.Add(time.Duration(i)*time.Hour)))
	}
	require.ErrorIs(t, amend(t, n, 13, "again", then), disk.ErrOlder)
	again := func(operation string, received time.Time) {
		require.NoError(t, j.Close())
		j = journal(t, path)
		n, err = newestIn(j)
		require.NoError(t, err)
		held, have := n.Command()
		require.True(t, have)
		require.Equal(t, operation, held.Operation.ID)
		require.True(t, n.Received().Equal(received), n.Received())
	}
	again("change 11", then.Add(11*time.Hour))
	for name := range j.Names("command/") {
		value, err := j.Get(name)
		require.NoError(t, err)
		require.Less(t, len(value), 1000, "as long as what changed")
	}
	require.Len(t, j.Names("command/"), 12)

	_, err = n.Accept(command(t, api.Order{Epoch: 1, Generation: 20}, "another"), then)
	require.NoError(t, err)
	require.Empty(t, j.Names("command/"))
	again("another", then)
	require.NoError(t, amend(t, n, 21, "of another", then))
	again("of another", then)
}

// What a crash left of changes of an earlier command is not taken for one of this.
func TestChangesOfAnEarlierCommandAreNobodys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := journal(t, path)
	n, err := newestIn(j)
	require.NoError(t, err)
	_, err = n.Accept(command(t, api.Order{Epoch: 1, Generation: 1}, "first"), then)
	require.NoError(t, err)
	require.NoError(t, amend(t, n, 2, "changed", then))
	var left string
	for left = range j.Names("command/") {
	}
	value, err := j.Get(left)
	require.NoError(t, err)
	_, err = n.Accept(command(t, api.Order{Epoch: 1, Generation: 3}, "second"), then)
	require.NoError(t, err)
	require.NoError(t, j.Put(left, value, then))

	n, err = newestIn(j)
	require.NoError(t, err)
	held, _ := n.Command()
	require.Equal(t, "second", held.Operation.ID)
	_, err = n.Accept(command(t, api.Order{Epoch: 1, Generation: 4}, "third"), then)
	require.NoError(t, err)
	require.Empty(t, j.Names("command/"))
}

func TestAChangeThatCannotBeReadIsNamed(t *testing.T) {
	j := journal(t, filepath.Join(t.TempDir(), "journal"))
	n, err := newestIn(j)
	require.NoError(t, err)
	_, err = n.Accept(command(t, api.Order{Epoch: 1, Generation: 1}, "first"), then)
	require.NoError(t, err)
	held, _ := n.Command()
	held.Order.Generation = 2
	require.NoError(t, n.Amend(held, [][]byte{[]byte("no change")}, then))
	_, err = newestIn(j)
	require.ErrorIs(t, err, errOfTest)
	require.ErrorContains(t, err, "change 0 of command")
	require.NoError(t, j.Put("command/1/0", []byte("damaged"), then))
	_, err = newestIn(j)
	require.ErrorContains(t, err, "change 0 of command")
}
