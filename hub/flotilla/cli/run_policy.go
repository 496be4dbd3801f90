package cli

import (
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// policyFlags are the settings of a run that have nothing to do with its order.
type policyFlags struct {
	ineligible, stopped, unreachable, pending, checks string
	memberTimeout, pendingTimeout, minRemaining       time.Duration
	strict, reserve, preview                          bool
}

func (f *policyFlags) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&f.ineligible, "on-ineligible", "", "about members that the version rules forbid: Refuse the start or Skip them (default Refuse)")
	flags.StringVar(&f.stopped, "on-stopped", "", "about members that are powered off: Skip, Wait or Fail (default Skip)")
	flags.StringVar(&f.unreachable, "on-unreachable", "", "about members that nobody hears of: Wait, Skip or Fail (default Wait)")
	flags.DurationVar(&f.pendingTimeout, "pending-timeout", 0, "how long a member may be Pending before --on-pending-timeout (default for ever)")
	flags.StringVar(&f.pending, "on-pending-timeout", "", "Notify, Skip or Fail (default Notify)")
	flags.DurationVar(&f.memberTimeout, "member-timeout", 0, "after which the upgrade of a member has failed (default never)")
	flags.DurationVar(&f.minRemaining, "min-remaining", 0, "how much of an open window must be left to start a member")
	flags.StringVar(&f.checks, "checks", "", "what checks before and after do: Block, Warn or Ignore (default Block)")
	flags.BoolVar(&f.strict, "strict", false, "refuse the run when its concurrency would be lowered")
	flags.BoolVar(&f.reserve, "reserve-opening-soon", false, "keep slots for members whose window opens within 4 hours")
	flags.BoolVar(&f.preview, "allow-preview", false, "accept a version in preview")
}

// policy is what was set, nil when nothing was.
func (f *policyFlags) policy() (*api.UpdatePolicy, error) {
	p := api.UpdatePolicy{}
	for _, word := range []struct {
		flag, value string
		to          *string
		known       []string
	}{
		{"--on-ineligible", f.ineligible, &p.OnIneligible, []string{api.PolicyRefuse, api.PolicySkip}},
		{"--on-stopped", f.stopped, &p.OnStopped, []string{api.PolicySkip, api.PolicyWait, api.PolicyFail}},
		{"--on-unreachable", f.unreachable, &p.OnUnreachable, []string{api.PolicyWait, api.PolicySkip, api.PolicyFail}},
		{"--on-pending-timeout", f.pending, &p.OnPendingTimeout, []string{api.PolicyNotify, api.PolicySkip, api.PolicyFail}},
		{"--checks", f.checks, &p.Checks, []string{api.ChecksBlock, api.ChecksWarn, api.ChecksIgnore}},
	} {
		if word.value == "" {
			continue
		}
		found, err := wordsAmong(word.flag, []string{word.value}, word.known)
		if err != nil {
			return nil, err
		}
		*word.to = found[0]
	}
	for _, span := range []struct {
		value time.Duration
		to    **metav1.Duration
	}{{f.memberTimeout, &p.MemberTimeout}, {f.pendingTimeout, &p.PendingTimeout}, {f.minRemaining, &p.MinRemaining}} {
		if span.value != 0 {
			*span.to = &metav1.Duration{Duration: span.value}
		}
	}
	for _, flag := range []struct {
		value bool
		to    **bool
	}{{f.strict, &p.Strict}, {f.reserve, &p.ReserveOpeningSoon}, {f.preview, &p.AllowPreview}} {
		if flag.value {
			*flag.to = &flag.value
		}
	}
	if p == (api.UpdatePolicy{}) {
		return nil, nil
	}
	return &p, nil
}
