package draft

import (
	"flotilla/core/api"
	"flotilla/hub/door/losses"
)

// Taking refuses, when deletions take away more than may be taken at once, with what that is; not says that nothing was
// done. With yes whoever asks knows, and nothing of it is held again.
func (f *Draft) Taking(yes bool, not string) error {
	l := f.losses()
	if yes {
		f.ops = append(f.ops, l.Approvals(api.WithdrawalApproval{By: f.by.Name, At: f.now, Request: f.request})...)
		return nil
	}
	if beyond := l.Beyond(); beyond != "" {
		return &api.Failure{
			Code: api.CodeLimit, Next: "repeat the command with --yes",
			Message: not + ": it would take away " + beyond + ", more than may go unasked",
		}
	}
	return nil
}

// Held says what members would lose that is held until somebody approves it, nothing where nothing is. Left are how many
// members placements leave, by their key, beside what the draft says.
func (f *Draft) Held(left map[string]int) string {
	l := f.losses()
	for placement, members := range left {
		l.Leaves(placement, members)
	}
	return l.Beyond()
}

func (f *Draft) losses() *losses.Losses {
	return losses.Of(f.records, f.desk.options.Bounds, f.going, f.cuts)
}
