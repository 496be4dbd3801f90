package hub

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

func (a commands) approveCommand() *cobra.Command {
	return session.Group("approve", "Let go what waits for a person", a.approveWithdrawalCommand())
}

func (a commands) approveWithdrawalCommand() *cobra.Command {
	var dryRun string
	cmd := &cobra.Command{
		Use:   "withdrawal MEMBER | placement/NAME",
		Short: "Let a withdrawal go that is held",
		Long: `Let a withdrawal go that is held because it would take away too much at once: all that is held of a placement, or all
that is held that a member would lose. It lists what goes, and lets go exactly that: what comes later is held again. With
--dry-run=server it only lists. Gates of runs are approved by "flotilla run approve".`,
		Example: `  flotilla approve withdrawal placement/web --dry-run=server
  flotilla approve withdrawal berlin`,
		RunE: a.Do(func(ctx context.Context, args []string) error { return a.approve(ctx, dryRun, args) }),
	}
	a.NamespaceFlag(cmd.Flags())
	session.DryRunFlag(cmd, &dryRun)
	return cmd
}

func (a commands) approve(ctx context.Context, dryRun string, args []string) error {
	dry, err := session.ParseDryRun(dryRun)
	if err != nil {
		return err
	}
	request := api.ApproveWithdrawalRequest{Request: resource.NewRequestID(), DryRun: true}
	if len(args) == 1 && !strings.Contains(args[0], "/") || len(args) > 0 && strings.HasPrefix(args[0], "member") {
		request.Member, err = resource.MemberName(args, true)
	} else {
		var r resource.Ref
		r, err = resource.PlacementRef(args, a.Namespace)
		request.Placement = r.Object()
	}
	if err != nil {
		return err
	}
	var answer api.ApproveWithdrawalResponse
	if err := a.Call(ctx, api.VerbApproveWithdrawal, request, &answer); err != nil {
		return err
	}
	if len(answer.Losses) == 0 {
		return &session.Failure{Code: session.ExitRefused, Message: fmt.Sprintf("nothing of %s is held", answer.Of), Next: "flotilla status"}
	}
	a.sayLosses(&answer)
	if dry {
		a.Printf("withdrawal of %s approved (server dry run)\n", answer.Of)
		return nil
	}
	request.DryRun, request.Digest = false, answer.Digest
	if err := a.Call(ctx, api.VerbApproveWithdrawal, request, &answer); err != nil {
		return err
	}
	a.Printf("withdrawal of %s approved\n", answer.Of)
	a.Next("flotilla status")
	return nil
}

// shownLosses is how many losses people are shown.
const shownLosses = 20

// sayLosses lists what goes.
func (a commands) sayLosses(answer *api.ApproveWithdrawalResponse) {
	for i := range answer.Losses[:min(len(answer.Losses), shownLosses)] {
		l := &answer.Losses[i]
		what := "loses"
		if l.Whole {
			what = "gives up"
		}
		a.Printf("  %s %s %s of %s: %s\n", l.Member, what, phrase.Count(l.Objects, "object"), l.Placement, phrase.First(l.Names, l.Objects))
	}
	if more := len(answer.Losses) - shownLosses; more > 0 {
		a.Printf("  and %d more\n", more)
	}
	a.Printf("%s in all\n", phrase.Count(answer.Objects, "object"))
}
