package door

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/disk"
	"flotilla/core/api"
)

// readOnly are the verbs that store nothing of the fleet's.
var readOnly = []string{
	api.VerbGet, api.VerbList, api.VerbWatch, api.VerbPlan, api.VerbWhatIf, api.VerbPreview, api.VerbWhy, api.VerbTrace, api.VerbHistory, api.VerbRolloutHistory, api.VerbEvents, api.VerbStatus, api.VerbFleet, api.VerbCells, api.VerbWindows, api.VerbMember, api.VerbVersion, api.VerbUnconfirmed, api.VerbRaw, api.VerbWhoami, api.VerbKey,
	api.VerbUserList, api.VerbNodes, api.VerbDisruptions, api.VerbPlanNodes, api.VerbWhyNode, api.VerbBudgets, api.VerbBackup,
}

// goOn are the verbs that end or remove something, or make credentials alone: they are answered out of the reserve.
var goOn = []string{api.VerbDelete, api.VerbMemberRevoke, api.VerbRunStop, api.VerbDeleteNode, api.VerbUserRevoke, api.VerbEnrol, api.VerbRolloutUndo, api.VerbRolloutPause, api.VerbFreeze, api.VerbUnfreeze, api.VerbApproveWithdrawal, api.VerbWeb, api.VerbToken}

// Without room every verb is refused but those that store nothing, end or remove something. What is asked as a dry run
// is answered.
func TestVerbsWithoutRoom(t *testing.T) {
	d := New(bustest.Start(t).Lead(t), Options{Log: zerolog.Nop(), Room: func() disk.Room {
		return disk.Room{Where: "/data", Own: true, Free: 1, Total: 100, Reserve: 10}
	}})
	reached := errors.New("reached")
	handler := func(context.Context, api.Caller, []byte) (any, error) { return nil, reached }
	var answered []string
	for _, v := range api.VerbTable() {
		_, err := d.withRoom(v.Verb, handler)(t.Context(), api.Caller{}, []byte("{}"))
		if failure, refused := errors.AsType[*api.Failure](err); refused {
			require.Equal(t, api.CodeNoRoom, failure.Code, v.Verb)
			_, err = d.withRoom(v.Verb, handler)(t.Context(), api.Caller{}, []byte(`{"dryRun":true}`))
		} else {
			answered = append(answered, v.Verb)
		}
		require.ErrorIs(t, err, reached, v.Verb)
	}
	require.ElementsMatch(t, slices.Concat(readOnly, goOn), answered)
}

// A write that a server without inodes stored nothing of says why, and one that failed with room says what the server said.
func TestWritesThatWereIncompleteForWantOfRoom(t *testing.T) {
	incomplete := fmt.Errorf("storing: %w", &jetstream.APIError{Code: 400, ErrorCode: 10176, Description: "atomic publish batch is incomplete"})
	none := disk.Room{Where: "/data", Own: true, Free: 100, Total: 100, Files: disk.Files{Total: 4096, Reserve: 81}}
	failure := unstored(none, incomplete)
	require.Equal(t, api.CodeNoRoom, failure.Code)
	require.Contains(t, failure.Message, "nothing was stored: /data has 0 inodes free of 4096")
	require.Contains(t, failure.Message, "atomic publish batch is incomplete")
	some := none
	some.Files.Free = 4000
	require.Nil(t, unstored(some, incomplete))
	require.Nil(t, unstored(none, errors.New("for another reason")))
}
