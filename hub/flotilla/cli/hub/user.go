package hub

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/session"
)

func (a commands) userCommand() *cobra.Command {
	return session.Group("user", "Give people credentials with a role, list and revoke them",
		a.userAddCommand(), a.userRenewCommand(), a.userListCommand(), a.userRevokeCommand())
}

type userOptions struct {
	role    string
	expires time.Duration
}

const rolesHelp = "viewer reads everything but Secrets; operator also applies, runs and approves; admin also\nkeeps members and people."

func (a commands) userAddCommand() *cobra.Command {
	o := &userOptions{}
	cmd := &cobra.Command{
		Use:   "add NAME --role ROLE",
		Short: "Print credentials for a person",
		Long: "Print a .creds file for a person, who may do what the role says and nothing else, under that name:\n" + rolesHelp +
			"\nKeep the file secret.",
		Example: `  flotilla user add anna@example.com --role operator > anna.creds`,
		Args:    oneUser,
		RunE:    a.Do(func(ctx context.Context, args []string) error { return a.userCreds(ctx, o, args[0], false) }),
	}
	o.flags(cmd, string(api.RoleViewer))
	return cmd
}

func (a commands) userRenewCommand() *cobra.Command {
	o := &userOptions{}
	cmd := &cobra.Command{
		Use:   "renew NAME",
		Short: "Print new credentials for a person and revoke the former ones; also to give another role",
		Long: "Print new credentials for a person and revoke the former ones at once. Without --role the role stays.\n" + rolesHelp +
			"\nWhere others make the credentials it prints none, and lets in again who was revoked.",
		Example: `  flotilla user renew anna@example.com --role admin > anna.creds`,
		Args:    oneUser,
		RunE:    a.Do(func(ctx context.Context, args []string) error { return a.userCreds(ctx, o, args[0], true) }),
	}
	o.flags(cmd, "")
	return cmd
}

func (o *userOptions) flags(cmd *cobra.Command, role string) {
	cmd.Flags().StringVar(&o.role, "role", role, "viewer, operator or admin")
	cmd.Flags().DurationVar(&o.expires, "expires", api.UserLife, "for how long the credentials hold, at most 8784h")
}

func oneUser(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return session.Usagef("found %d arguments, expected the name of one person", len(args))
	}
	if err := api.CheckUser(args[0]); err != nil {
		return session.Usagef("%s", err)
	}
	return nil
}

func (a commands) userCreds(ctx context.Context, o *userOptions, name string, renew bool) error {
	a.Machine = true
	request := api.UserAddRequest{Name: name, Role: api.Role(o.role), Life: metav1.Duration{Duration: o.expires}, Renew: renew}
	if o.role != "" || !renew {
		if _, err := api.ParseRole(o.role); err != nil {
			return session.Usagef("--role: %s", err)
		}
	}
	var reply api.UserAddResponse
	if err := a.Call(ctx, api.VerbUserAdd, request, &reply); err != nil {
		return err
	}
	if reply.Creds == "" {
		a.Note("%s is let in again, with credentials that others make", name)
		return nil
	}
	a.Printf("%s\n", strings.TrimRight(reply.Creds, "\n"))
	a.Note("%s is %s until %s", name, reply.User.Role, reply.User.Ends.UTC().Format(time.RFC3339))
	if at := a.ReachedAt(); strings.HasPrefix(at, "tls://") {
		a.Note("the servers speak TLS: NATS_URL=%s beside NATS_CREDS", at)
	}
	if reply.Left != nil {
		return reply.Left
	}
	a.Next("flotilla user list")
	return nil
}

func (a commands) userListCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List people with their roles and the ends of their credentials",
		Example: `  flotilla user list`,
		Args:    session.NoArgs,
		RunE: a.Do(func(ctx context.Context, _ []string) error {
			if err := a.Format(format, "json"); err != nil {
				return err
			}
			var reply api.UserListResponse
			if err := a.Call(ctx, api.VerbUserList, struct{}{}, &reply); err != nil {
				return err
			}
			if a.Machine {
				return session.PrintJSON(a.Out, reply)
			}
			return a.printUsers(reply.Users)
		}),
	}
	cmd.Flags().StringVarP(&format, "output", "o", "", "json")
	return cmd
}

func (a commands) printUsers(users []api.User) error {
	w := a.Columns(2)
	session.Say(w, "NAME\tROLE\tSTANDING\tENDS\tBY\n")
	for i := range users {
		ends := "never"
		if u := &users[i]; !u.Ends.IsZero() {
			ends = u.Ends.UTC().Format(time.RFC3339)
		}
		session.Say(w, "%s\t%s\t%s\t%s\t%s\n", users[i].Name, session.OrDash(string(users[i].Role)), users[i].Standing(a.Now()), ends, session.OrDash(users[i].By))
	}
	return w.Flush()
}

func (a commands) userRevokeCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "revoke NAME",
		Short:   "Refuse the credentials of a person from now on",
		Long:    "Refuse the credentials of a person from now on: their connections are cut at once, also those of commands that run,\nand links and sessions of the page end. Where others make the credentials the hub refuses the name, until it is renewed,\nand what is left to type has their servers refuse the credentials too.",
		Example: `  flotilla user revoke anna@example.com`,
		Args:    oneUser,
		RunE: a.Do(func(ctx context.Context, args []string) error {
			var reply api.UserRevokeResponse
			if err := a.Call(ctx, api.VerbUserRevoke, api.UserRevokeRequest{Name: args[0]}, &reply); err != nil {
				return err
			}
			did := "revoked"
			if reply.Unchanged {
				did = "unchanged"
			}
			a.Printf("user %s %s\n", args[0], did)
			if reply.Left != nil {
				return reply.Left
			}
			return nil
		}),
	}
}

func (a commands) whoamiCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "whoami",
		Short:   "Show who the hub takes you for, and your role",
		Example: `  flotilla whoami`,
		Args:    session.NoArgs,
		RunE: a.Do(func(ctx context.Context, _ []string) error {
			me, err := a.whoami(ctx)
			if err != nil {
				return err
			}
			a.Printf("%s, %s\n", me.Name, me.Role)
			return nil
		}),
	}
}

// whoami is who the hub takes the caller for.
func (a commands) whoami(ctx context.Context) (me api.WhoamiResponse, err error) {
	err = a.Call(ctx, api.VerbWhoami, api.WhoamiRequest{}, &me)
	return me, err
}
