package run

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
	flags.BoolVar(&f.strict, "strict", false, "refuse a stage that may take more than 50 members at once, and a group that may take more than its stage or its members, rather than warn and lower it")
	flags.BoolVar(&f.reserve, "reserve-opening-soon", false, "keep slots for members whose window opens within 4 hours")
	flags.BoolVar(&f.preview, "allow-preview", false, "accept a version in preview")
}

// policyWord is a setting that is one of a few words.
type policyWord struct {
	flag  string
	given *string
	known []string
	to    func(*api.UpdatePolicy) *string
}

func (f *policyFlags) words() []policyWord {
	return []policyWord{
		{"on-ineligible", &f.ineligible, []string{api.PolicyRefuse, api.PolicySkip}, func(p *api.UpdatePolicy) *string { return &p.OnIneligible }},
		{"on-stopped", &f.stopped, []string{api.PolicySkip, api.PolicyWait, api.PolicyFail}, func(p *api.UpdatePolicy) *string { return &p.OnStopped }},
		{"on-unreachable", &f.unreachable, []string{api.PolicyWait, api.PolicySkip, api.PolicyFail}, func(p *api.UpdatePolicy) *string { return &p.OnUnreachable }},
		{"on-pending-timeout", &f.pending, []string{api.PolicyNotify, api.PolicySkip, api.PolicyFail}, func(p *api.UpdatePolicy) *string { return &p.OnPendingTimeout }},
		{"checks", &f.checks, []string{api.ChecksBlock, api.ChecksWarn, api.ChecksIgnore}, func(p *api.UpdatePolicy) *string { return &p.Checks }},
	}
}

// policy is what was set, nil when nothing was.
func (f *policyFlags) policy() (*api.UpdatePolicy, error) {
	p := api.UpdatePolicy{}
	for _, word := range f.words() {
		value, to := *word.given, word.to(&p)
		if value == "" {
			continue
		}
		found, err := wordsAmong("--"+word.flag, []string{value}, word.known)
		if err != nil {
			return nil, err
		}
		*to = found[0]
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
