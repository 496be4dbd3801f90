package advice

import (
	"fmt"
	"time"

	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/core/upgrade"
	"flotilla/core/validate/upgrades"
)

// Upgrades is what update runs depend on, as it would be once documents are applied.
type Upgrades struct {
	View       upgrade.View
	Strategies map[string]*api.UpdateStrategy
}

// Found is what is remarkable about a document, and what it is refused for.
type Found struct {
	Notes   []string
	Refusal *api.Refusal
}

// Judge says what is found in a document around upgrades, nothing in others.
func (u *Upgrades) Judge(value any, now time.Time) Found {
	switch value := value.(type) {
	case *api.UpdateRun:
		status, refusal := upgrade.Create(value, u.Strategies[value.Spec.StrategyName], u.View, now)
		return Found{status.Warnings, refusal}
	case *api.UpdateStrategy:
		return Found{Notes: upgrade.StrategyWarnings(value, u.View.Fleet, now)}
	case *api.AutoUpgradeProfile:
		return u.profile(value)
	case *api.MemberMaintenance:
		if _, known := u.View.Fleet.Member(value.Name); !known {
			return Found{Notes: []string{"there is no member " + value.Name + " yet"}}
		}
	}
	return Found{}
}

func (u *Upgrades) profile(profile *api.AutoUpgradeProfile) (found Found) {
	var minors []string // nil when no catalog says which there are
	if u.View.Catalog != nil {
		minors = u.View.Catalog.Minors()
	}
	if faults := upgrades.AutoUpgradeProfile(profile, minors); len(faults) > 0 {
		found.Refusal = refused(faults...)
	}
	if name := profile.Spec.StrategyName; name != "" && u.Strategies[name] == nil {
		found.Notes = []string{"there is no UpdateStrategy " + name + " yet: until there is one, no run can be made"}
	}
	return found
}

// OfNoProfile refuses a run of a person that says it was made of a profile.
func OfNoProfile(run *api.UpdateRun) *api.Refusal {
	if run.Spec.AutoUpgradeProfile == "" {
		return nil
	}
	return refused(strict.Fault{
		Object: api.KindUpdateRun + "/" + run.Name, Path: "spec.autoUpgradeProfile",
		Found: fmt.Sprintf("%q", run.Spec.AutoUpgradeProfile), Expected: "nothing: the hub sets it on the runs it makes of a profile",
	})
}

func refused(faults ...strict.Fault) *api.Refusal {
	return &api.Refusal{Code: api.CodeInvalidArgument, Faults: faults}
}
