package door

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/liveness"
	"flotilla/subjects"
)

// maxProblems is how many problems one screen lists.
const maxProblems = 50

// status is the whole fleet on one screen, problems first.
func (d *Door) status(ctx context.Context, _ *struct{}) (any, error) {
	fleet := &api.FleetStatus{
		Fleet: d.store.Conn.Fleet.Name, Leader: d.store.Term.Holder, Term: d.store.Term.Term, Members: map[string]int{},
		Placements: d.records.placements.Len(),
	}
	for _, schedule := range d.records.schedules.All() {
		fleet.Bindings += len(schedule.Value.Bindings)
	}
	for _, member := range d.records.seen.All() {
		if d.records.lingers(&member.Value) {
			continue
		}
		fleet.Members[string(member.Value.State)]++
		fleet.Problems = append(fleet.Problems, d.memberProblems(&member.Value)...)
		fleet.Problems = append(fleet.Problems, d.credentialProblems(&member.Value)...)
	}
	for _, entry := range d.records.members.All() {
		if _, _, seen := d.records.seen.Get(entry.Name); !seen {
			fleet.Members[string(api.MemberJoining)]++
			fleet.Problems = append(fleet.Problems, silent(&entry))
		}
	}
	for _, entry := range d.records.placements.All() {
		problems, converging := d.placementProblems(&entry)
		fleet.Problems = append(fleet.Problems, problems...)
		if converging {
			fleet.Converging++
		}
	}
	fleet.Problems = append(fleet.Problems, d.roomProblems()...)
	fleet.Problems = append(fleet.Problems, d.shareProblems()...)
	if d.options.Streams != nil {
		fleet.Problems = append(fleet.Problems, d.options.Streams()...)
	}
	fleet.Problems = append(fleet.Problems, d.unconfirmed(d.store.Now())...)
	fleet.Problems = append(fleet.Problems, d.unreadableProblems()...)
	fleet.Problems = append(fleet.Problems, d.sealingProblems()...)
	fleet.Problems = append(fleet.Problems, d.layoutProblems(ctx)...)
	fleet.Problems = append(fleet.Problems, d.poolProblems()...)
	problems, runs := d.upgradeProblems(d.store.Now())
	fleet.Problems, fleet.Runs = append(fleet.Problems, problems...), runs
	d.nodeCounts(fleet)
	fleet.Problems = append(fleet.Problems, d.disruptionProblems(d.store.Now())...)
	slices.SortStableFunc(fleet.Problems, func(a, b api.Problem) int {
		return cmp.Or(cmp.Compare(severity(a.Reason), severity(b.Reason)), cmp.Compare(a.Object, b.Object))
	})
	if more := len(fleet.Problems) - maxProblems; more > 0 {
		fleet.Problems = append(fleet.Problems[:maxProblems], api.Problem{
			Object: "fleet", Reason: "MoreProblems", Message: count(more, "more problem"), Next: "flotilla get crp",
		})
	}
	return fleet, nil
}

// severity orders problems: what stops work, what failed, what stands still, what is missing, what only waits.
func severity(reason string) int {
	switch reason {
	case string(api.MemberUnknown), string(api.MemberNotReady), "LevelTooLow", api.ReasonNoKey, reasonRunFailed, reasonUnreadable, reasonNoRoom, api.ReasonStreamFilling:
		return 0
	case reasonFailed, reasonInvalid, reasonFailedDisruption, api.ReasonDeadlineExceeded:
		return 1
	case reasonUnfulfilled, reasonNothing:
		return 3
	case string(api.MemberJoining), "Unlisted", reasonResealing, reasonDeleting, reasonUnconfirmed, api.ReasonLockedByRun, api.ReasonOperationInProgress:
		return 4
	}
	return 2
}

func (d *Door) memberProblems(record *api.MemberRecord) []api.Problem {
	problem := api.Problem{
		Object: subjects.KindMember + "/" + record.Name, Reason: string(record.State), Message: record.Message,
		Since: record.Since, Next: "flotilla describe member " + record.Name,
	}
	var problems []api.Problem
	switch {
	case record.UID == "":
		problem.Message = "its agent runs, but it is no member: nobody admitted it, or it left and its agent is to be stopped"
		problem.Next = "flotilla member admit " + record.Name
		problems = append(problems, problem)
	case record.Reason == liveness.ReasonRevoked:
		problem.Next = "flotilla member enrol " + record.Name + " > " + record.Name + ".token"
		problems = append(problems, problem)
	case record.State != api.MemberReady:
		problems = append(problems, problem)
	}
	if record.AgentLevel > 0 && record.AgentLevel < api.Level {
		problem.Reason = "LevelTooLow"
		problem.Message = fmt.Sprintf("its agent speaks level %d, this hub %d: it gets no commands it cannot read", record.AgentLevel, api.Level)
		problems = append(problems, problem)
	}
	if identity, _, _, err := d.records.identities.Find(record.Name); err == nil && record.UID != "" && identity.SealingKey == "" && identity.Revoked == nil {
		keyless := problem
		keyless.Reason, keyless.Message, keyless.Next = api.ReasonNoKey, api.KeylessMessage, api.EnrolCommand(record.Name)
		problems = append(problems, keyless)
	}
	if len(record.Forbidden) > 0 {
		problem.Reason, problem.Message = liveness.ReasonForbidden, liveness.ForbiddenText(record.Forbidden)
		problems = append(problems, problem)
	}
	if len(record.Unlisted) > 0 {
		problem.Reason, problem.Message = "Unlisted", "it runs placements the hub does not know: "+enumerate(record.Unlisted)
		problems = append(problems, problem)
	}
	return problems
}

// layoutProblems are the settings of streams that are not what this hub would make them.
func (d *Door) layoutProblems(ctx context.Context) []api.Problem {
	differences, err := d.store.Differences(ctx)
	if err != nil {
		differences = d.store.Layout.Differences
	}
	var problems []api.Problem
	for _, difference := range differences {
		problems = append(problems, api.Problem{
			Object: api.AuditObject(api.AuditStream, difference.Stream), Reason: "StreamDiffers", Message: difference.String(),
			Since: metav1.NewTime(d.judgeFrom.Add(-d.options.Grace)), Next: difference.Command(),
		})
	}
	return problems
}

func silent(entry *bus.Entry[api.Spec]) api.Problem {
	return api.Problem{
		Object: subjects.KindMember + "/" + entry.Name, Reason: string(api.MemberJoining), Since: entry.Value.Created,
		Message: "admitted, but its agent never reported", Next: api.EnrolCommand(entry.Name),
	}
}
