package door

import (
	"context"
	"errors"
	"fmt"
	"reflect"
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

// requests are those of the verbs that have a dry run.
var requests = map[string]any{
	api.VerbApply: api.ApplyRequest{}, api.VerbPatch: api.PatchRequest{}, api.VerbDelete: api.DeleteRequest{}, api.VerbDeleteNode: api.DeleteNodeRequest{},
	api.VerbFreeze: api.FreezeRequest{}, api.VerbUnfreeze: api.FreezeRequest{}, api.VerbApproveWithdrawal: api.ApproveWithdrawalRequest{},
	api.VerbEnrol: api.EnrolRequest{}, api.VerbRolloutUndo: api.RolloutRequest{}, api.VerbRolloutPause: api.RolloutRequest{},
	api.VerbRolloutResume: api.RolloutRequest{}, api.VerbRolloutRestart: api.RolloutRequest{},
}

// others are requests of verbs that have none.
var others = map[string]any{
	api.VerbAdmit: api.AdmitRequest{}, api.VerbMemberRevoke: api.MemberRevokeRequest{}, api.VerbUserAdd: api.UserAddRequest{},
	api.VerbUserRevoke: api.UserRevokeRequest{}, api.VerbRunStart: api.RunRequest{}, api.VerbRunStop: api.RunRequest{},
	api.VerbRunSkip: api.RunRequest{}, api.VerbRunApprove: api.RunRequest{}, api.VerbRunRerun: api.RunRequest{}, api.VerbRunGenerate: api.RunRequest{},
	api.VerbRestore: api.RestoreRequest{}, api.VerbWeb: api.WebRequest{}, api.VerbToken: api.TokenRequest{}, api.VerbEnter: api.EnterRequest{}, api.VerbLeave: api.SessionRequest{},
}

// A request counts as a dry run where its verb has one: of others dryRun is passed over where they are read.
func TestADryRunIsOfAVerbThatHasOne(t *testing.T) {
	for _, all := range []map[string]any{requests, others} {
		for verb, request := range all {
			_, has := reflect.TypeOf(request).FieldByName("DryRun")
			require.Equal(t, has, dryRuns[verb], verb)
			require.Equal(t, has, dry(verb, []byte(`{"dryRun":true}`)), verb)
			require.False(t, dry(verb, []byte(`{"dryRun":false}`)), verb)
		}
	}
	require.Len(t, dryRuns, len(requests))
	for verb := range needsRoom {
		_, is := others[verb]
		require.True(t, is || dryRuns[verb], verb)
	}
}

// Without room every verb is refused but those that store nothing, end or remove something. What is asked as a dry run
// is answered.
func TestVerbsWithoutRoom(t *testing.T) {
	d := New(bustest.Start(t).Lead(t), Options{Log: zerolog.Nop(), Rooms: Rooms{Room: func() disk.Room {
		return disk.Room{Where: "/data", Own: true, Free: 1, Total: 100, Reserve: 10}
	}}})
	reached := errors.New("reached")
	handler := func(context.Context, api.Caller, []byte) (any, error) { return nil, reached }
	var answered []string
	for _, v := range api.VerbTable() {
		_, err := d.withRoom(v.Verb, handler)(t.Context(), api.Caller{}, []byte("{}"))
		if failure, refused := errors.AsType[*api.Failure](err); refused {
			require.Equal(t, api.CodeNoRoom, failure.Code, v.Verb)
			_, err = d.withRoom(v.Verb, handler)(t.Context(), api.Caller{}, []byte(`{"dryRun":true}`))
			if requests[v.Verb] == nil {
				require.ErrorAs(t, err, &failure, "%s has no dry run: it would store something", v.Verb)
				require.Equal(t, api.CodeNoRoom, failure.Code, v.Verb)
				continue
			}
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
