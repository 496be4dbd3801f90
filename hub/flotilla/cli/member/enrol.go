package member

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

func (a commands) memberEnrolCommand() *cobra.Command {
	var expires time.Duration
	cmd := &cobra.Command{
		Use:     "enrol NAME",
		Aliases: []string{"enroll"},
		Short:   "Print a token with which a member's agent enrols",
		Long: `Print a token with which the agent of a member enrols, once: it makes a key of its own, and gets credentials for
what concerns that member and nothing else. Where the member has an agent, the new one takes its place, and
the key of the former is refused. Keep the token secret until it was used.`,
		Example: `  flotilla member enrol berlin > berlin.token`,
		Args:    oneName,
		RunE: a.Do(func(ctx context.Context, args []string) error {
			a.Machine = true
			reply, err := a.enrol(ctx, api.EnrolRequest{Name: args[0], Life: metav1.Duration{Duration: expires}})
			if err != nil {
				return err
			}
			a.Printf("%s\n", reply.Token)
			a.Note("the token may be used once, until %s; admit the member once its agent runs: flotilla member admit %s",
				reply.Ends.UTC().Format(time.RFC3339), args[0])
			a.Next("agent --token @%s.token", args[0])
			return nil
		}),
	}
	expiresFlag(cmd, &expires)
	return cmd
}

func expiresFlag(cmd *cobra.Command, expires *time.Duration) {
	cmd.Flags().DurationVar(expires, "expires", api.TokenLife, "for how long the token may be used, at most 720h")
}

// enrol asks for a token, which leads to where agents reach the servers.
func (a commands) enrol(ctx context.Context, request api.EnrolRequest) (api.EnrolResponse, error) {
	var reply api.EnrolResponse
	err := a.Call(ctx, api.VerbEnrol, request, &reply)
	reply.Token.URL = agentURL(reply.Token.URL, a.ReachedAt())
	return reply, err
}

// overTLS begins the URL of servers that speak TLS.
const overTLS = "tls://"

// agentURL is where an agent reaches the servers: where this command did, unless the hub was told better.
func agentURL(told, reached string) string {
	if local, err := loopback(told); err == nil && !local || reached == "" {
		return told
	}
	if strings.HasPrefix(told, overTLS) {
		return api.OverTLS(reached)
	}
	return reached
}
