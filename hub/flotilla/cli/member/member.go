package member

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
	"flotilla/core/validate"
	"flotilla/hub/flotilla/cli/object"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

func (a commands) memberCommand() *cobra.Command {
	return session.Group("member", "Admit members, enrol and revoke their agents, label, taint and let them leave",
		append(a.cordonCommands(true), a.drainCommand(true), a.memberAdmitCommand(), a.memberEnrolCommand(), a.memberManifestCommand(), a.memberRevokeCommand(), a.memberLeaveCommand(),
			object.Commands{Client: a.Client}.MemberLabelCommand(), a.taintCommand(true))...)
}

type admitOptions struct {
	allowLabels []string
	labels      []string
	key         string
}

func (a commands) memberAdmitCommand() *cobra.Command {
	o := &admitOptions{}
	cmd := &cobra.Command{
		Use:   "admit NAME",
		Short: "Make a joining member part of the fleet",
		Long: `Make a joining member part of the fleet. Labels that its agent offers count only for allowed keys;
without --allow-labels those that it offers now are allowed, and for a member that was admitted before
they are added to those that were allowed. "describe member" shows the key of its agent, which the agent logs
when it enrols; with --key no other is admitted.`,
		Example: `  flotilla member admit berlin --labels region=eu --allow-labels 'fleet.azure.com/*'`,
		Args:    oneName,
		RunE:    a.Do(func(ctx context.Context, args []string) error { return a.admit(ctx, o, args[0]) }),
	}
	cmd.Flags().StringSliceVar(&o.allowLabels, "allow-labels", nil, `label keys that the agent may set; "*" is any, "prefix/*" any of a prefix`)
	cmd.Flags().StringVar(&o.key, "key", "", "the key that its agent has to hold")
	cmd.Flags().StringSliceVar(&o.labels, "labels", nil, "labels of the member, KEY=VALUE")
	return cmd
}

func (a commands) admit(ctx context.Context, o *admitOptions, name string) error {
	request := api.AdmitRequest{Request: resource.NewRequestID(), Name: name, AllowLabels: o.allowLabels}
	if o.key != "" {
		request.Expect = &api.Joining{Key: o.key}
	}
	pairs, err := resource.ParsePairs(o.labels)
	if err != nil {
		return err
	}
	for key, value := range pairs {
		if value == nil {
			return session.Usagef("--labels: found %q, expected KEY=VALUE", key+"-")
		}
		if request.Labels == nil {
			request.Labels = map[string]string{}
		}
		request.Labels[key] = *value
	}
	var reply api.ApplyResult
	if err := a.Call(ctx, api.VerbAdmit, request, &reply); err != nil {
		return err
	}
	a.Notes(reply.Notes)
	done := "admitted"
	if reply.Action == api.ActionUnchanged {
		done = "unchanged"
	}
	a.Printf("membercluster.%s/%s %s\n", api.GroupCluster, name, done)
	a.Next("flotilla wait member/%s --for=jsonpath='{.status.state}'=Ready", name)
	return nil
}

func (a commands) memberRevokeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke NAME",
		Short: "Refuse the agent of a member from now on",
		Long: `Refuse the agent of a member from now on: its connection is cut at once, its credentials and tokens that were not
used are good for nothing, and what it stored is removed. The member stays in the fleet until it leaves; another
agent of it needs a token of its own.`,
		Example: `  flotilla member revoke dublin`,
		Args:    oneName,
		RunE: a.Do(func(ctx context.Context, args []string) error {
			var reply api.MemberRevokeResponse
			if err := a.Call(ctx, api.VerbMemberRevoke, api.MemberRevokeRequest{Name: args[0]}, &reply); err != nil {
				return err
			}
			did := "revoked"
			if reply.Unchanged {
				did = "unchanged"
			}
			a.Printf("agent of member %s %s\n", args[0], did)
			if reply.Left != nil {
				return reply.Left
			}
			return nil
		}),
	}
}

type leaveOptions struct {
	yes         bool
	whenLeaving string
	wait        bool
	timeout     time.Duration
}

func (a commands) memberLeaveCommand() *cobra.Command {
	o := &leaveOptions{}
	cmd := &cobra.Command{
		Use:   "leave NAME",
		Short: "Take a member out of the fleet",
		Long: `Take a member out of the fleet. What was placed on it stays there (Retain) unless its MemberCluster
or --when-leaving says Delete. PickN placements find another member for what it held.
Interrupted, the command says how far it came: what was asked of the hub goes on.`,
		Example: `  flotilla member leave dublin --when-leaving Delete`,
		Args:    oneName,
		RunE:    a.Do(func(ctx context.Context, args []string) error { return a.leave(ctx, o, args[0]) }),
	}
	cmd.Flags().StringVar(&o.whenLeaving, "when-leaving", "", "Retain or Delete what is placed on it (default: as its MemberCluster says)")
	cmd.Flags().BoolVar(&o.wait, "wait", true, "wait until it is gone")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "take away much at once without being asked")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 2*time.Minute, "how long to wait; then exit 124")
	return cmd
}

func (a commands) leave(ctx context.Context, o *leaveOptions, name string) error {
	r := resource.Named(api.KindMemberCluster, name)
	switch o.whenLeaving {
	case "":
	case api.WhenLeavingRetain, api.WhenLeavingDelete:
		if _, err := a.Patch(ctx, r, false, whenLeaving(o.whenLeaving)); err != nil {
			return err
		}
	default:
		return session.Usagef("--when-leaving: found %q, expected %s or %s", o.whenLeaving, api.WhenLeavingRetain, api.WhenLeavingDelete)
	}
	obj, err := a.Fetch(ctx, r)
	if err != nil {
		return err
	}
	asked, failed, err := a.AskDeletion(ctx, &resource.Deletion{Yes: o.yes}, []resource.Ref{r}, false)
	if errors.Is(ctx.Err(), context.Canceled) && err != nil {
		return &session.Failure{Code: session.ExitPartial, Message: err.Error(), Next: "flotilla get " + r.String()}
	}
	if err != nil || len(failed) > 0 {
		return errors.Join(append(failed, err)...)
	}
	if !o.wait {
		a.Next("flotilla wait member/%s --for=delete", name)
		return nil
	}
	if err := a.WaitGone(ctx, asked, o.timeout); err != nil {
		return err
	}
	for _, g := range asked {
		if err := a.GoneWithout(ctx, g); err != nil {
			return err
		}
	}
	kept := "what was placed on it stays there"
	if resource.LeavesNothing(obj) {
		kept = "what was placed on it was withdrawn, as far as its agent confirmed"
	}
	a.Printf("member %s left the fleet; %s\n", name, kept)
	a.Note("its agent lets go of its nodes and is refused then; to refuse it now: flotilla member revoke %s", name)
	a.Next("flotilla get placements")
	return nil
}

func whenLeaving(value string) resource.Change {
	return func(obj *unstructured.Unstructured) (map[string]any, error) {
		if now, _, _ := unstructured.NestedString(obj.Object, "spec", "deleteOptions", "whenLeaving"); now == value {
			return nil, nil
		}
		return map[string]any{"spec": map[string]any{"deleteOptions": map[string]any{"whenLeaving": value}}}, nil
	}
}

// oneName wants exactly the name of a member.
func oneName(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return session.Usagef("found %d arguments, expected the name of one member", len(args))
	}
	if faults := validate.MemberName("name", args[0]); len(faults) > 0 {
		return session.Usagef("found member name %q, expected %s", args[0], faults[0].Expected)
	}
	return nil
}
