package guards

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/core/guard"
	"flotilla/core/phrase"
	"flotilla/hub/door/records"
	"flotilla/subjects"
)

// target is what an approval is of.
type target struct {
	name  string // of its record
	of    string // "placement/web"
	typed string // as people type it
	holds func(release *api.Release, h *api.Held) bool
}

// Approve lets go what is held of a placement, or what is held that a member would lose: exactly what was shown. A dry run
// shows it.
func (g *Guards) Approve(ctx context.Context, request *api.ApproveWithdrawalRequest) (*api.ApproveWithdrawalResponse, error) {
	t, err := g.target(request)
	if err != nil {
		return nil, err
	}
	losses := g.held(t)
	answer := &api.ApproveWithdrawalResponse{Action: api.ActionUnchanged, Of: t.of, Losses: g.named(losses), Digest: guard.Digest(losses)}
	for i := range losses {
		answer.Objects += losses[i].Objects
	}
	switch {
	case len(losses) == 0:
		return answer, nil
	case request.DryRun:
		answer.Action = api.ActionApproved
		return answer, nil
	case request.Digest != answer.Digest:
		return nil, &api.Failure{
			Code: api.CodeConflict, Next: "flotilla approve withdrawal " + t.typed + " --dry-run=server",
			Message: "what is held is not what was shown any more: look again, and approve that",
		}
	}
	record := &api.WithdrawalApproval{
		Header: api.NewHeader(api.KindApproval), Of: t.of, By: request.By.Name, At: g.now(), Request: request.Request,
	}
	earlier, revision, _, err := g.records.Approvals.Find(t.name)
	if err != nil && revision == 0 {
		return nil, err
	}
	record.Losses = append(slices.DeleteFunc(slices.Clone(earlier.Losses), func(l api.HeldLoss) bool { return !g.current(&l) }), losses...)
	answer.Action = api.ActionApproved
	op := g.records.Approvals.Put(t.name, record, revision)
	return answer, g.write(ctx, request.By, t.of, "WithdrawalApproved", told(losses), op)
}

// target finds what a request names.
func (g *Guards) target(request *api.ApproveWithdrawalRequest) (*target, error) {
	if member := request.Member; member != "" {
		if _, _, found, _ := g.records.Members.Find(member); !found {
			return nil, g.records.Missing(api.ObjectRef{Kind: api.KindMemberCluster, Name: member})
		}
		return &target{
			name: guard.ApprovalOfMember(member), of: api.AuditObject(api.AuditMember, member), typed: member,
			holds: func(_ *api.Release, h *api.Held) bool { return h.Member == member },
		}, nil
	}
	table, name := g.records.Place(request.Placement)
	stored, _, found := table.Get(name)
	if !found || table != g.records.Placements {
		return nil, g.records.Missing(request.Placement)
	}
	return &target{
		name: guard.ApprovalOfPlacement(name), of: api.AuditObject(api.AuditPlacement, name), typed: records.Typed(stored.Object),
		holds: func(r *api.Release, _ *api.Held) bool { return r.Placement == name },
	}, nil
}

// held are the losses of a target that are.
func (g *Guards) held(t *target) (losses []api.HeldLoss) {
	for _, entry := range g.records.Releases.All() {
		release := &entry.Value
		for i := range release.Held {
			h := &release.Held[i]
			if h.Loss == (api.Loss{}) || !t.holds(release, h) {
				continue
			}
			if e := entryOf(release, h.Member); e != nil {
				losses = append(losses, api.HeldLoss{Placement: release.Placement, UID: e.UID, Member: h.Member, Loss: h.Loss})
			}
		}
	}
	return losses
}

// current says that a loss that was approved is still to come.
func (g *Guards) current(l *api.HeldLoss) bool {
	release, _, _ := g.records.Releases.Get(l.Placement)
	e := entryOf(&release, l.Member)
	return e != nil && e.UID == l.UID && e.Generation == l.Of && !e.Withdrawn
}

func entryOf(release *api.Release, member string) *api.ReleaseEntry {
	at, found := slices.BinarySearchFunc(release.Entries, member, func(e api.ReleaseEntry, name string) int { return strings.Compare(e.Member, name) })
	if !found {
		return nil
	}
	return &release.Entries[at]
}

// shownNames is how many objects of a loss an answer names.
const shownNames = 10

// named are losses with the names of the first objects that would go.
func (g *Guards) named(losses []api.HeldLoss) []api.HeldLoss {
	out := slices.Clone(losses)
	for i := range out {
		release, _, _ := g.records.Releases.Get(out[i].Placement)
		e := entryOf(&release, out[i].Member)
		if e == nil {
			continue
		}
		from, _, _ := g.records.Snapshots.Get(subjects.SnapshotName(out[i].Placement, e.Snapshot))
		to, _, _ := g.records.Snapshots.Get(subjects.SnapshotName(out[i].Placement, out[i].To))
		for _, m := range guard.Lost(from.Manifests, to.Manifests, shownNames) {
			out[i].Names = append(out[i].Names, m.String())
		}
	}
	return out
}

// told is what the event of an approval says.
func told(losses []api.HeldLoss) string {
	objects, members, placements := 0, map[string]bool{}, map[string]bool{}
	for i := range losses {
		objects += losses[i].Objects
		members[losses[i].Member], placements[losses[i].Placement] = true, true
	}
	return fmt.Sprintf("%s of %s leave %s", phrase.Count(objects, "object"), phrase.Count(len(placements), "placement"), phrase.Count(len(members), "member"))
}
