package cli

import (
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/upgrade"
)

// assumptions say how upgrades and gates are taken to go.
type assumptions struct {
	assume   time.Duration
	approval time.Duration
	approved bool
}

// settle checks the flags, and tells an approval at once from none.
func (o *assumptions) settle(flags *pflag.FlagSet) error {
	if flags.Changed("assume") && o.assume <= 0 {
		return usagef("--assume: found %s, expected a duration such as 20m", o.assume)
	}
	if o.approval < 0 {
		return usagef("--assume-approval: found %s, expected a duration such as 0s or 2h", o.approval)
	}
	o.approved = flags.Changed("assume-approval")
	return nil
}

func (o *assumptions) request(request *api.PlanRequest) {
	if o.assume > 0 {
		request.Assume = &metav1.Duration{Duration: o.assume}
	}
	if o.approved {
		request.ApproveAfter = &metav1.Duration{Duration: o.approval}
	}
}

// given are the same assumptions for a plan from files.
func (o *assumptions) given() upgrade.Assumptions {
	a := upgrade.Assumptions{Duration: o.assume}
	if o.approved {
		a.ApproveAfter = &o.approval
	}
	return a
}

func (o *assumptions) addFlags(flags *pflag.FlagSet) {
	flags.DurationVar(&o.assume, "assume", 0, "how long the upgrade of a member takes (default: as those that the run has finished, else as earlier ones of the member, of the fleet, else 20m)")
	flags.DurationVar(&o.approval, "assume-approval", 0, "how long after it is reached a gate is approved (default: never; a run stays Pending there)")
}
