package placement

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

type evictOptions struct {
	member  string
	dryRun  string
	timeout time.Duration
}

func (a Commands) evictCommand() *cobra.Command {
	o := &evictOptions{}
	cmd := &cobra.Command{
		Use:   "evict placement/NAME --member MEMBER",
		Short: "Take a placement off a member, within its disruption budget",
		Long: `Take a placement off a member, within its disruption budget: it asks with a ClusterResourcePlacementEviction, which
is decided on once, and says what became of it. The member is not picked again until the policy of the placement
changes, unless its annotation flotilla.io/allow-evicted says so; a PickN picks another one in its place. What is refused
is not tried again: exit code 3 with the reason.`,
		Example: `  flotilla evict placement/web --member berlin`,
		RunE:    a.Do(func(ctx context.Context, args []string) error { return a.evict(ctx, o, args) }),
	}
	cmd.Flags().StringVarP(&o.member, "member", "m", "", "the member that the placement is to leave")
	cmd.Flags().DurationVar(&o.timeout, "timeout", time.Minute, "how long to wait for the decision; then exit 124")
	session.DryRunFlag(cmd, &o.dryRun)
	return cmd
}

func (a Commands) evict(ctx context.Context, o *evictOptions, args []string) error {
	dry, err := session.ParseDryRun(o.dryRun)
	if err != nil {
		return err
	}
	p, err := resource.PlacementRef(args, "")
	switch {
	case err != nil:
		return err
	case p.Kind != api.KindClusterResourcePlacement:
		return session.Refusedf("%s: a ResourcePlacement cannot be evicted; flotilla drain member/NAME empties a member of all", p)
	case o.member == "":
		return session.Usagef("found no member, expected --member MEMBER: the one that the placement is to leave")
	}
	e := evictionOf(p.Name, o.member)
	if err := a.ask(ctx, e, dry); err != nil || dry {
		return err
	}
	return a.evicted(ctx, o, p, e.Name)
}

// maxName is how long names may be.
const maxName = 63

// evictionOf is an eviction with a name of its own.
func evictionOf(placement, member string) *api.ClusterResourcePlacementEviction {
	suffix := "-" + strings.ToLower(rand.Text()[:6])
	name := placement + "-" + member
	name = strings.TrimRight(name[:min(len(name), maxName-len(suffix))], "-.")
	return &api.ClusterResourcePlacementEviction{
		TypeMeta:   metav1.TypeMeta{APIVersion: resource.Known(api.KindEviction).APIVersion, Kind: api.KindEviction},
		ObjectMeta: metav1.ObjectMeta{Name: name + suffix},
		Spec:       api.PlacementEvictionSpec{PlacementName: placement, ClusterName: member},
	}
}

// ask applies an eviction.
func (a Commands) ask(ctx context.Context, e *api.ClusterResourcePlacementEviction, dry bool) error {
	body, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encoding the eviction: %w", err)
	}
	request := api.ApplyRequest{Request: resource.NewRequestID(), DryRun: dry, Documents: []json.RawMessage{body}}
	var reply api.ApplyResponse
	if err := a.Call(ctx, api.VerbApply, request, &reply); err != nil {
		return err
	}
	for i := range reply.Results {
		a.Notes(reply.Results[i].Notes)
		a.Report(&reply.Results[i], reply.Results[i].Action, dry)
	}
	return nil
}

// evicted waits until an eviction was decided on, and says how.
func (a Commands) evicted(ctx context.Context, o *evictOptions, p resource.Ref, name string) error {
	ctx, cancel := session.WithTimeout(ctx, o.timeout)
	defer cancel()
	r := resource.Named(api.KindEviction, name)
	for {
		obj, err := a.Fetch(ctx, r)
		if err == nil {
			if e := resource.Into[api.ClusterResourcePlacementEviction](obj); e.Status != nil && len(e.Status.Conditions) > 0 {
				return a.decided(p, e)
			}
		} else if ctx.Err() == nil {
			return err
		}
		if !session.Pause(ctx, session.PollInterval) {
			return &session.Failure{Code: session.ExitTimedOut, Message: fmt.Sprintf("%s is not decided on; it is without this command", r), Next: "flotilla describe " + r.String()}
		}
	}
}

func (a Commands) decided(p resource.Ref, e *api.ClusterResourcePlacementEviction) error {
	last := e.Status.Conditions[len(e.Status.Conditions)-1]
	if slices.ContainsFunc(e.Status.Conditions, func(c metav1.Condition) bool { return c.Status != metav1.ConditionTrue }) {
		return &session.Failure{Code: session.ExitRefused, Message: fmt.Sprintf("%s stays on %s: %s", p, e.Spec.ClusterName, last.Message), Next: "flotilla get " + p.String() + " --members"}
	}
	a.Printf("%s leaves %s: %s\n", p, e.Spec.ClusterName, last.Message)
	a.Next("flotilla get %s --members", p)
	return nil
}
