package door_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/plan"
	"flotilla/hub/door"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// TestApplyNotesWindowsThatKeepMembersWaiting applies schedules that never open, or never for long enough; a plan
// notes the same.
func TestApplyNotesWindowsThatKeepMembersWaiting(t *testing.T) {
	h := open(t, door.Options{})
	record := beat(elsewhen.Now(), "berlin", nil)
	record.UID, record.State, record.Labels = h.apply(berlin)[0].UID, api.MemberReady, map[string]string{"env": "prod"}
	write(h, subjects.Members, "berlin", record)
	blocked := elsewhen.Now().AddDate(0, 0, -10).Format(api.DateLayout) + `", end: "` + elsewhen.Now().AddDate(2, 0, 0).Format(api.DateLayout)
	const schedule = `{schedule: {weekly: {intervalWeeks: 1, dayOfWeek: Sunday}}, durationHours: 4, startTime: "02:00"}`
	maintenance := func(spec string) string {
		return "{apiVersion: flotilla.io/v1alpha1, kind: MemberMaintenance, metadata: {name: berlin}, spec: {" + spec + "}}"
	}
	strategy := `{apiVersion: flotilla.io/v1alpha1, kind: UpdateStrategy, metadata: {name: long}, spec: {policy: {minRemaining: 5h},
	  stages: [{name: all, memberSelector: {byLabel: env}}]}}`
	run := `{apiVersion: flotilla.io/v1alpha1, kind: UpdateRun, metadata: {name: spring}, spec: {strategyName: long, upgrade: {type: NodeImageOnly}}}`
	const (
		never = ".aksManagedNodeOSUpgradeSchedule does not open within 400 days: until it does no run starts the member"
		short = "no maintenance window for images is open for 4h30m0s within 400 days, so that these members keep waiting: berlin"
	)
	notes := func(texts ...string) []string {
		t.Helper()
		answer := must[plan.Answer](h, api.VerbPlan, api.PlanRequest{Documents: docs(t, texts...)})
		var applied, planned []string
		for _, r := range h.apply(texts...) {
			applied = append(applied, onWindows(r.Notes, "")...)
			planned = append(planned, onWindows(answer.Notes, r.Object.String()+": ")...)
		}
		require.Equal(t, applied, planned, "a plan notes what apply notes")
		return applied
	}
	require.Equal(t, []string{"spec" + never}, notes(maintenance("aksManagedNodeOSUpgradeSchedule: "+
		strings.Replace(schedule, `"}`, `", notAllowedDates: [{start: "`+blocked+`"}]}`, 1))))
	require.Empty(t, notes(strategy), "what never opens is told of where it stands")
	require.Empty(t, notes(maintenance("aksManagedNodeOSUpgradeSchedule: "+schedule)))
	require.Equal(t, []string{"spec.policy.minRemaining: " + short}, notes(strings.Replace(strategy, "5h", "4h30m", 1)), "now they open")
	require.Equal(t, []string{"policy.minRemaining: " + short}, onWindows(h.apply(run)[0].Notes, ""))
	require.Empty(t, notes(strings.Replace(strategy, "5h", "4h", 1)))
}

// onWindows are the notes about windows that begin with a prefix, without it.
func onWindows(notes []string, prefix string) []string {
	var found []string
	for _, note := range notes {
		if text, about := strings.CutPrefix(note, prefix); about && (strings.Contains(text, "window") || strings.Contains(text, "open")) {
			found = append(found, text)
		}
	}
	return slices.Clip(found)
}
