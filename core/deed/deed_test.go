package deed

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/plan"
	"flotilla/core/whatif"
)

func TestCommandsAreTypedAsTheyAre(t *testing.T) {
	for _, c := range []struct {
		words, object string
		more          []string
		want          string
	}{
		{"run start", "run/spring", nil, "flotilla run start spring"},
		{"run approve", "run/shop/web-1", []string{"--gate", "prod/before/Approval"}, "flotilla run approve web-1 --gate prod/before/Approval -n shop"},
		{"rollout pause", "placement/web", nil, "flotilla rollout pause placement/web"},
		{"rollout pause", "placement/shop/web", []string{"--reason", "it's late; rm -rf ~"}, `flotilla rollout pause rp/web --reason 'it'\''s late; rm -rf ~' -n shop`},
		{"approve withdrawal", "member/berlin", nil, "flotilla approve withdrawal berlin"},
		{"drain", "member/berlin", nil, "flotilla drain member berlin"},
		{"member admit", "member/berlin", nil, "flotilla member admit berlin"},
		{"freeze", "fleet/fleet", []string{"--reason", "$(id)"}, "flotilla freeze --reason '$(id)'"},
		{"freeze", "fleet/runs", []string{"--reason", ""}, "flotilla freeze runs --reason ''"},
		{"unfreeze", "member/oslo", nil, "flotilla unfreeze member oslo"},
	} {
		require.Equal(t, c.want, Command(c.words, c.object, c.more...))
	}
}

func deedOf(t *testing.T, action string, asked map[string][]string) *Deed {
	t.Helper()
	d, err := New(action, asked)
	require.NoError(t, err)
	return d
}

func TestWhatARunIsDecidedOn(t *testing.T) {
	run := &api.UpdateRun{ObjectMeta: metav1.ObjectMeta{UID: "u", Generation: 2, ResourceVersion: "7"}, Status: &api.UpdateRunStatus{Run: "spring"}}
	run.Status.Stages = []api.StageStatus{{Name: "prod", BeforeGates: []api.GateStatus{
		{GateID: "g-1", Type: api.GateApproval, Status: api.UpdateStatus{State: api.StatePending}},
	}}}
	version := ""
	seen := func(state api.UpdateState, action string) []string {
		run.Status.Status.State = state
		d := deedOf(t, action, map[string][]string{"run": {"spring"}})
		ask, err := d.Run(run)
		require.NoError(t, err)
		without := &plan.Answer{Report: plan.Report{Runs: make([]plan.Run, 1)}, RunDetails: make([]plan.RunDetail, 1)}
		with := &plan.Answer{Report: plan.Report{Runs: []plan.Run{{Members: []plan.RunMember{{Name: "a"}}}}}, RunDetails: []plan.RunDetail{{Messages: []string{""}}}}
		require.NoError(t, d.Foreseen(run, ask, without, with, time.Time{}))
		version = ask.ResourceVersion
		return d.Seen
	}
	approve := seen(api.StateRunning, "approve")
	require.Equal(t, []string{
		"run u, generation 2, made 0001-01-01 00:00Z", "it is under way", "gate prod/before/Approval (g-1) is Pending", "it changes something for 1 member",
	}, approve)
	require.Equal(t, "7", version)
	require.Equal(t, approve, seen(api.StatePending, "approve"), "a run that goes on is the same run")
	require.NotEqual(t, approve, seen(api.StateStopped, "approve"))
	require.Len(t, seen(api.StateRunning, "stop"), 2, "members that begin meanwhile hold no stop up")
	require.Empty(t, version)
}

func TestWhatGoesIsTold(t *testing.T) {
	answer := &api.ApproveWithdrawalResponse{Of: "member/a", Objects: 3, Losses: []api.HeldLoss{
		{Placement: "web", Member: "a", Loss: api.Loss{Objects: 2, Whole: true}, Names: []string{"x", "y"}},
		{Placement: "db", Member: "a", Loss: api.Loss{Objects: 1}, Names: []string{"z"}},
	}}
	d := deedOf(t, "approve-withdrawal", map[string][]string{"object": {"member/a"}})
	require.NoError(t, d.Losses(answer))
	require.Equal(t, []string{"a gives up 2 objects of web: x and y", "a loses 1 object of db: z", "3 objects in all"}, d.Plan)
	require.Equal(t, 1, d.Members)

	for i := range 300 {
		answer.Losses = append(answer.Losses, api.HeldLoss{Placement: "p", Member: fmt.Sprint(i), Loss: api.Loss{Objects: 1}})
	}
	d.Look = Look{}
	require.NoError(t, d.Losses(answer))
	require.Len(t, d.Plan, 101)
	require.Equal(t, 301, d.Members)
	require.ErrorContains(t, d.Losses(&api.ApproveWithdrawalResponse{Of: "member/a"}), "nothing of member/a is held")
}

func TestWhereToPlacementsMove(t *testing.T) {
	d := deedOf(t, "drain", map[string][]string{"member": {"berlin"}})
	d.Moves(&whatif.Report{Totals: whatif.Totals{Changed: 2}, Placements: []whatif.Placement{
		{Name: "web", Moves: whatif.Moves{Gained: 1, Gains: []whatif.Gain{{Member: "oslo"}}}},
		{Name: "db", Unfilled: whatif.Change{Before: 1, After: 2}},
		{Name: "all", Unfilled: whatif.Change{Before: 2, After: 2}},
	}})
	require.Equal(t, []string{"web comes to oslo", "2 placements would change, as all stands"}, d.Plan)
	require.Equal(t, []string{"db lacks 2 members then"}, d.Held)
}

func TestWhatIsAskedOfAnAction(t *testing.T) {
	for object, want := range map[string]string{
		"placement/web": "flotilla rollout pause placement/web", "placement/shop/web": "flotilla rollout pause rp/web -n shop",
		"placement/$(id)": "expected one of placement", "member/web": "expected one of placement", "placement/a/b/c": "expected one of placement", "": `found ""`,
	} {
		d, err := New("pause", map[string][]string{"object": {object}})
		if err != nil {
			require.ErrorContains(t, err, want)
			continue
		}
		require.Equal(t, want, d.Command)
	}
	_, err := New("delete", nil)
	require.ErrorContains(t, err, `there is no action "delete"`)
	_, err = New("pause", map[string][]string{"object": {"placement/web"}, "reason": {strings.Repeat("x", 254)}})
	require.ErrorContains(t, err, "at most 253 printable characters")
	d := deedOf(t, "skip", map[string][]string{"run": {"spring"}, "target": {"member/a, stage/b"}})
	ask, err := d.Run(&api.UpdateRun{})
	require.NoError(t, err)
	require.Equal(t, []api.SkipTarget{{Type: api.TargetMember, Name: "a"}, {Type: api.TargetStage, Name: "b"}}, ask.Targets)
	require.Equal(t, "flotilla run skip spring member/a stage/b", d.Command)
	require.Equal(t, []string{"Skip run/spring", "operator"}, []string{d.Label(), string(d.Needs())})
}

func TestOnlyWhatWasSeenIsAgreedTo(t *testing.T) {
	for want, change := range map[string]func(*Deed){
		"":                            func(*Deed) {},
		"it changed since you looked": func(d *Deed) { d.Seen = []string{"one", "three"} },
		`it was agreed to as "anna (viewer)", and you are`:   func(d *Deed) { d.say("as", "anna (viewer)") },
		"it concerns 31 members, and that number has to be":  func(d *Deed) { d.Members = 31 },
		"it concerns 29 members, and that number has to be ": func(d *Deed) { d.Members = 29; d.say("typed", "29") },
		"it needs a reason": func(d *Deed) { d.say("reason", " ") },
	} {
		d := deedOf(t, "freeze", map[string][]string{
			"object": {"fleet/runs"}, "seen": {"one\r\ntwo"}, "as": {"anna (admin)"}, "shown": {"30"}, "typed": {"30"}, "reason": {"sale"},
		})
		d.Seen, d.Members = []string{"one", "two"}, 29 // one fewer than was seen
		change(d)
		err := d.Agreed("anna (admin)")
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, want)
		if len(d.Was) > 0 {
			require.Equal(t, [][]string{{"two"}, {"three"}}, [][]string{d.Was, d.Is})
		}
	}
}

func TestASteeredRolloutIsToldAndBoundToWhatWasSeen(t *testing.T) {
	placement := &api.Placement{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "u", Generation: 3}}
	basis := &api.Basis{ResourceVersion: "7", Newest: 5}
	for action, c := range map[string]struct {
		answer        api.RolloutResponse
		command, seen string
		revision      int64
	}{
		"resume": {api.RolloutResponse{Action: api.ActionResumed, Revision: 5, Basis: basis}, "flotilla rollout resume placement/web", "newest revision then 5, of 0", 0},
		"pause":  {api.RolloutResponse{Action: api.ActionPaused, Revision: 5, Basis: basis}, "flotilla rollout pause placement/web --reason sale", "newest revision then 5, of 0", 0},
		"undo":   {api.RolloutResponse{Action: api.ActionUndone, Revision: 6, Of: 4, Basis: basis}, "flotilla rollout undo placement/web --to-revision 4", "newest revision then 6, of 4", 4},
	} {
		d := deedOf(t, action, map[string][]string{"object": {"placement/web"}, "reason": {"sale"}})
		ask := d.Rollout()
		c.answer.Notes = []string{"lima waits"}
		require.NoError(t, d.Steered(&c.answer, ask, placement))
		require.Equal(t, c.command, d.Command)
		require.Equal(t, c.revision, ask.Revision)
		require.Equal(t, basis, ask.Basis)
		require.Equal(t, []string{"placement/web would be " + c.answer.Action, "lima waits"}, d.Plan[:2])
		require.Equal(t, []string{"it would be " + c.answer.Action, c.seen, "u, generation 3, made 0001-01-01 00:00Z"}, d.Seen)
	}
}

func TestASteeringThatChangesNothingIsNotOffered(t *testing.T) {
	d := deedOf(t, "resume", map[string][]string{"object": {"placement/web"}})
	err := d.Steered(&api.RolloutResponse{Action: api.ActionUnchanged, Notes: []string{"it is not paused"}}, d.Rollout(), &api.Placement{})
	require.ErrorContains(t, err, "there is nothing to do: it is not paused")
	require.Empty(t, d.Plan)
}

func TestARevocationNamesTheCredentialsThatGo(t *testing.T) {
	m := &api.MemberCluster{Status: &api.MemberClusterStatus{}}
	d := deedOf(t, "revoke", map[string][]string{"object": {"member/berlin"}})
	require.Empty(t, d.Revocation(m), "others made its credentials, or there are none yet")
	m.Status.Credentials = &api.AgentCredentials{State: "Bound", Key: "UABC"}
	require.Equal(t, "UABC", d.Revocation(m))
	require.Equal(t, []string{"its credentials:  ", "its credentials: Bound UABC"}, d.Seen)
	require.Contains(t, d.Plan[0], "its agent is cut off at once")
}
