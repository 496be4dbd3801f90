package offline

import (
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/upgrade"
	"flotilla/hub/flotilla/cli/session"
)

// Assumptions say how upgrades and gates are taken to go.
type Assumptions struct {
	assume   time.Duration
	approval time.Duration
	Approved bool
}

// Settle checks the flags, and tells an approval at once from none.
func (o *Assumptions) Settle(flags *pflag.FlagSet) error {
	if flags.Changed("assume") && o.assume <= 0 {
		return session.Usagef("--assume: found %s, expected a duration such as 20m", o.assume)
	}
	if o.approval < 0 {
		return session.Usagef("--assume-approval: found %s, expected a duration such as 0s or 2h", o.approval)
	}
	o.Approved = flags.Changed("assume-approval")
	return nil
}

// Request puts the assumptions into a request.
func (o *Assumptions) Request(request *api.PlanRequest) {
	if o.assume > 0 {
		request.Assume = &metav1.Duration{Duration: o.assume}
	}
	if o.Approved {
		request.ApproveAfter = &metav1.Duration{Duration: o.approval}
	}
}

// Given are the same assumptions for a plan from files.
func (o *Assumptions) Given() upgrade.Assumptions {
	a := upgrade.Assumptions{Duration: o.assume}
	if o.Approved {
		a.ApproveAfter = &o.approval
	}
	return a
}

// AddFlags adds the flags of assumptions.
func (o *Assumptions) AddFlags(flags *pflag.FlagSet) {
	flags.DurationVar(&o.assume, "assume", 0, "how long the upgrade of a member takes (default: as those that the run has finished, else as earlier ones of the member, of the fleet, else 20m)")
	flags.DurationVar(&o.approval, "assume-approval", 0, "how long after it is reached a gate is approved (default: never; a run stays Pending there)")
}
