package crowd

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/subjects"
)

// upgrading is the upgrade that a player is at, or was at last.
type upgrading struct {
	operation *api.UpgradeOperation
	ends      ending
	due       time.Time // zero when it has ended, or will never
	begun     bool
}

// takeUpgrade takes in an operation; the same one is carried out once.
func (f *Fleet) takeUpgrade(p *player, stored []byte) error {
	var command api.UpgradeCommand
	if err := decode(stored, &command); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if op := command.Operation; op != nil && (p.upgrade.operation == nil || p.upgrade.operation.ID != op.ID) {
		p.upgrade = upgrading{operation: op, ends: f.endOf(p.member, op.Run), due: f.readyAt(p)}
	}
	return nil
}

// endOf is what comes of an operation. In the east of production some of many fail first, some end well, and all others go on
// for ever.
func (f *Fleet) endOf(m *member, run string) ending {
	if run != runSpring || m.wave != waveEast {
		return m.upgrades[run]
	}
	switch n, ended, failed := int(f.begun.Add(1)), f.eastEnds(), f.eastFails(); {
	case n > ended:
		return hangs
	case n <= failed:
		return fails
	}
	return endsWell
}

// eastEnds and eastFails are how many members of the east come to an end, and how many of them fail: none of few.
func (f *Fleet) eastEnds() int  { return f.options.Members * 6 / 1000 }
func (f *Fleet) eastFails() int { return f.options.Members * 6 / 10000 }

// step carries on with the operation of a player, and says whether its member is at another version now; the lock is held.
func (u *upgrading) step(p *player, now time.Time) (moved bool) {
	if u.operation == nil || u.due.IsZero() || u.begun && now.Before(u.due) {
		return false
	}
	switch {
	case !u.begun && (u.ends == hangs || now.Before(u.due)):
		u.begun = true
		if u.ends == hangs {
			u.due = time.Time{}
		}
		u.tell(p, now, api.UpgradeResult{Outcome: api.OutcomeRunning, Percent: 10 + p.number%80, Message: "2 of 5 nodes of pool workers are drained"})
		return false
	case u.ends == fails:
		u.tell(p, now, api.UpgradeResult{
			Outcome: api.OutcomeFailed, Reason: api.ReasonUpgradeFailed,
			Message: `pool workers: node aks-workers-3 cannot be drained: pods "db-0" is forbidden: ` + markup,
		})
	default:
		p.running, moved = "v"+u.operation.ControlPlaneVersion, u.operation.ControlPlaneVersion != ""
		if !moved {
			p.running = p.version
		}
		u.tell(p, now, api.UpgradeResult{Outcome: api.OutcomeSucceeded, Percent: 100})
	}
	u.due = time.Time{}
	return moved
}

// tell reports of the operation; the lock is held.
func (u *upgrading) tell(p *player, now time.Time, r api.UpgradeResult) {
	r.Header, r.Member, r.Run, r.Operation = api.NewHeader(api.KindUpgradeResult), p.name, u.operation.Run, u.operation.ID
	r.At = metav1.NewTime(now.UTC().Truncate(time.Second))
	p.held.put(resultID{subjects.CommandUpgrade, u.operation.Run}, r)
}
