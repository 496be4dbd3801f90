package door_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/hub/door"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

func (h *house) freeze(verb, scope string) (api.FreezeResponse, *api.Failure) {
	h.t.Helper()
	return ask[api.FreezeResponse](h, verb, api.FreezeRequest{Request: h.id(), Scope: scope, Reason: "the shop has its sale"})
}

// A freeze is told to whoever changes a placement, lists on the screen of the fleet, refuses deletions, and ends once.
func TestAFreeze(t *testing.T) {
	h := open(t, door.Options{})
	uid := h.apply(shopNamespace, settings, web, berlin)[2].UID
	answer, failure := h.freeze(api.VerbFreeze, api.FreezePlacements)
	require.Nil(t, failure)
	require.Equal(t, api.ActionFrozen, answer.Action)
	again, _ := h.freeze(api.VerbFreeze, api.FreezePlacements)
	require.Equal(t, api.ActionUnchanged, again.Action)
	require.Equal(t, answer.Freeze.Since.UTC(), again.Freeze.Since.UTC())
	other, _ := h.freeze(api.VerbFreeze, api.FreezeOf("berlin"))
	require.Equal(t, api.FreezePlacements, other.Others[0].Scope)
	require.Len(t, must[api.FleetStatus](h, api.VerbStatus, struct{}{}).Frozen, 2)

	notes := h.apply(config("settings", "2"))[0].Notes
	require.Len(t, notes, 1)
	require.Regexp(t, `^ClusterResourcePlacement/web: placements frozen by \S+ since \S+: the shop has its sale: no member moves until: flotilla unfreeze placements$`, notes[0])
	for _, ref := range []api.ObjectRef{webPlacement, {Kind: api.KindMemberCluster, Name: "berlin"}} {
		_, failure = ask[api.ApplyResult](h, api.VerbDelete, api.DeleteRequest{Request: h.id(), Object: ref})
		require.NotNil(t, failure)
		require.Equal(t, "flotilla unfreeze placements", failure.Next)
	}
	require.Equal(t, api.ActionDeleted, h.delete("ConfigMap", "shop", "settings").Action, "content may go: no member moves")

	record := beat(elsewhen.Now(), "berlin", nil)
	record.UID, record.State = h.apply(berlin)[0].UID, api.MemberReady
	write(h, subjects.Members, "berlin", record)
	planned := func() string {
		return fmt.Sprint(must[map[string]any](h, api.VerbPlan, api.PlanRequest{Documents: docs(t, web)})["placements"])
	}
	require.Contains(t, planned(), "rollout:waits rolloutReason:placements frozen by ")
	ended, _ := h.freeze(api.VerbUnfreeze, api.FreezePlacements)
	require.Equal(t, api.ActionUnfrozen, ended.Action)
	once, _ := h.freeze(api.VerbUnfreeze, api.FreezePlacements)
	require.Equal(t, api.ActionUnchanged, once.Action)
	require.Len(t, must[api.FleetStatus](h, api.VerbStatus, struct{}{}).Frozen, 1)
	require.Contains(t, planned(), "rollout:waits rolloutReason:member berlin frozen by ")
	h.release("web", uid, 1, "berlin")
	_, failure = ask[api.ApplyResult](h, api.VerbDelete, api.DeleteRequest{Request: h.id(), Object: webPlacement})
	require.NotNil(t, failure, "it is on a member that is frozen")
	require.Equal(t, "flotilla unfreeze member berlin", failure.Next)
	ended, _ = h.freeze(api.VerbUnfreeze, api.FreezeOf("berlin"))
	require.Equal(t, api.ActionUnfrozen, ended.Action)
	require.Equal(t, api.ActionDeleting, h.delete(api.KindClusterResourcePlacement, "", "web").Action)

	for scope, says := range map[string]string{"everything": `found scope "everything", expected fleet`, api.FreezeOf("nowhere"): "nowhere"} {
		_, failure = h.freeze(api.VerbFreeze, scope)
		require.ErrorContains(t, failure, says)
	}
	_, failure = ask[api.FreezeResponse](h, api.VerbFreeze, api.FreezeRequest{Request: h.id(), Scope: api.FreezeRuns})
	require.ErrorContains(t, failure, "expected 1 to 200 printable characters")
}

// What is approved is what was shown; a member that loses more meanwhile is shown again.
func TestAnApprovalIsOfWhatWasShown(t *testing.T) {
	h := open(t, door.Options{})
	uid := h.apply(shopNamespace, settings, web, berlin)[2].UID
	release := api.Release{Header: api.NewHeader(api.KindRelease), Placement: "web", Entries: []api.ReleaseEntry{{Member: "berlin", UID: uid, Snapshot: 1, Generation: 7}}}
	hold := func(objects int) {
		release.Held = []api.Held{{Member: "berlin", Reason: "WithdrawalHeld: too much", Guarded: true, Loss: api.Loss{Objects: objects, Of: 7, Whole: true}}}
		write(h, subjects.Releases, "web", release)
	}
	approve := func(request api.ApproveWithdrawalRequest) (api.ApproveWithdrawalResponse, *api.Failure) {
		request.Request = h.id()
		return ask[api.ApproveWithdrawalResponse](h, api.VerbApproveWithdrawal, request)
	}
	hold(2)
	shown, failure := approve(api.ApproveWithdrawalRequest{Placement: webPlacement, DryRun: true})
	require.Nil(t, failure)
	require.Equal(t, []string{"Namespace/shop", "ConfigMap/shop/settings"}, shown.Losses[0].Names)
	hold(3)
	_, failure = approve(api.ApproveWithdrawalRequest{Placement: webPlacement, Digest: shown.Digest})
	require.NotNil(t, failure)
	require.Equal(t, api.CodeConflict, failure.Code)
	shown, _ = approve(api.ApproveWithdrawalRequest{Member: "berlin", DryRun: true})
	done, failure := approve(api.ApproveWithdrawalRequest{Member: "berlin", Digest: shown.Digest})
	require.Nil(t, failure)
	require.Equal(t, api.ActionApproved, done.Action)
	record, _, found := store.TableOf[api.WithdrawalApproval](h.store.State, subjects.Approvals).Get("member.berlin")
	require.True(t, found)
	require.Equal(t, []api.HeldLoss{{Placement: "web", UID: uid, Member: "berlin", Loss: api.Loss{Objects: 3, Of: 7, Whole: true}}}, record.Losses)
	release.Held = nil
	write(h, subjects.Releases, "web", release)
	nothing, _ := approve(api.ApproveWithdrawalRequest{Placement: webPlacement, DryRun: true})
	require.Empty(t, nothing.Losses)
}

// A deletion that takes away more than may go unasked is refused, and with a yes what it takes is approved with it.
func TestADeletionThatTakesMuch(t *testing.T) {
	h := open(t, door.Options{})
	texts := []string{shopNamespace, web, berlin}
	refs := make([]api.ObjectRef, 12)
	for i := range refs {
		refs[i] = api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprintf("c%02d", i)}
		texts = append(texts, config(refs[i].Name, "1"))
	}
	uid := h.apply(texts...)[1].UID
	h.release("web", uid, 1, "berlin")
	remove := func(yes bool, refs ...api.ObjectRef) (api.DeleteResponse, *api.Failure) {
		return ask[api.DeleteResponse](h, api.VerbDelete, api.DeleteRequest{Request: h.id(), Objects: refs, Yes: yes})
	}
	for _, some := range [][]api.ObjectRef{refs, {webPlacement}} {
		_, failure := remove(false, some...)
		require.NotNil(t, failure)
		require.Equal(t, api.CodeLimit, failure.Code)
		require.Regexp(t, `^nothing was deleted: it would take away 1[23] of 13 objects of berlin, more than may go unasked$`, failure.Message)
	}
	_, failure := remove(false, refs[:10]...)
	require.Nil(t, failure, "10 objects may go")
	require.Equal(t, []int64{1, 2}, h.indexes("web"))
	_, failure = remove(true, refs[10:]...)
	require.Nil(t, failure)
	record, _, _ := store.TableOf[api.WithdrawalApproval](h.store.State, subjects.Approvals).Get("placement.web")
	require.Equal(t, []api.HeldLoss{{Placement: "web", UID: uid, Member: "berlin", Loss: api.Loss{Objects: 12, Of: 1, To: 3}}}, record.Losses)

	many := make([]string, 12)
	for i := range many {
		many[i] = fmt.Sprintf("m%02d", i)
	}
	h.release("web", uid, 3, many...)
	_, failure = remove(false, webPlacement)
	require.ErrorContains(t, failure, "placement web from 12 of 12 members")
	answer, failure := remove(true, webPlacement)
	require.Nil(t, failure)
	require.Equal(t, api.ActionDeleting, answer.Results[0].Action)
}

// A plan says what an apply would take away that is held then.
func TestAPlanForeseesAHeldWithdrawal(t *testing.T) {
	h := open(t, door.Options{})
	texts := []string{shopNamespace, web, berlin}
	for i := range 12 {
		texts = append(texts, config(fmt.Sprintf("c%02d", i), "1"))
	}
	h.release("web", h.apply(texts...)[1].UID, 1, "berlin")
	notes := func(text string) string {
		return fmt.Sprint(must[map[string]any](h, api.VerbPlan, api.PlanRequest{Documents: docs(t, text)})["notes"])
	}
	const says = "it would take away 13 of 13 objects of berlin: that is held until somebody approves it, flotilla approve withdrawal"
	require.Contains(t, notes(strings.ReplaceAll(web, "name: shop}", "name: elsewhere}")), says)
	require.NotContains(t, notes(web), "held")
}

// A freeze that was looked at is not ended, or begun, over somebody else's; what the same person did already is no other.
func TestAFreezeIsOfWhatWasSeen(t *testing.T) {
	h := peopled(t)
	anna := h.add("anna", api.RoleAdmin)
	looked := func(verb string) string {
		return must[api.FreezeResponse](h, verb, api.FreezeRequest{Scope: api.FreezeRuns, Reason: "sale", DryRun: true}).ResourceVersion
	}
	does := func(verb, version string) api.FreezeRequest {
		return api.FreezeRequest{Request: h.id(), Scope: api.FreezeRuns, Reason: "sale", ResourceVersion: version}
	}
	refused := func(failure *api.Failure, says string) {
		require.NotNil(t, failure)
		require.Equal(t, api.CodePrecondition, failure.Code)
		require.Regexp(t, "^nothing was done: it changed since you looked: "+says, failure.Message)
	}
	none := looked(api.VerbFreeze)
	require.Nil(t, asked(anna, t, api.VerbFreeze, does(api.VerbFreeze, none)))
	refused(must1(ask[api.FreezeResponse](h, api.VerbFreeze, does(api.VerbFreeze, none))), "runs frozen by anna since .*: sale")
	require.Nil(t, asked(anna, t, api.VerbFreeze, does(api.VerbFreeze, none)), "she asks again")

	frozen := looked(api.VerbUnfreeze)
	must[api.FreezeResponse](h, api.VerbUnfreeze, does(api.VerbUnfreeze, frozen))
	refused(asked(anna, t, api.VerbUnfreeze, does(api.VerbUnfreeze, frozen)), "runs unfrozen by admin at ")
	must[api.FreezeResponse](h, api.VerbFreeze, does(api.VerbFreeze, ""))
	refused(asked(anna, t, api.VerbUnfreeze, does(api.VerbUnfreeze, frozen)), "runs frozen by admin since ")
}
