package hub

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientauth "k8s.io/client-go/pkg/apis/clientauthentication/v1"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/session"
)

// credentialFormat is the -o of what kubectl reads as a credential plugin's.
const credentialFormat = "exec"

func (a commands) tokenCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Print a token for the Kubernetes API of the hub",
		Long: `Print a token for the Kubernetes API of the hub. Whoever shows it asks under your name and with your role, for an hour:
keep it to yourself. When your credentials are revoked, renewed or end, so does that.

With -o exec it is printed as kubectl reads it from the file of "flotilla kubeconfig"; one that holds for a while is then
kept for the next who asks, in the folder of caches, readable by you alone.`,
		Example: `  flotilla token`,
		Args:    session.NoArgs,
		RunE:    a.Do(func(ctx context.Context, _ []string) error { return a.token(ctx, format) }),
	}
	cmd.Flags().StringVarP(&format, "output", "o", "", credentialFormat)
	return cmd
}

func (a commands) token(ctx context.Context, format string) error {
	if err := a.Format(format, credentialFormat); err != nil {
		return err
	}
	if a.Machine {
		return a.credential(ctx)
	}
	given, err := a.askToken(ctx)
	if err != nil {
		return err
	}
	a.Printf("%s\n", given.Token)
	a.Note("it holds until %s, with your name and role", given.Ends.UTC().Format(time.RFC3339))
	return nil
}

func (a commands) askToken(ctx context.Context) (*api.TokenResponse, error) {
	answer := &api.TokenResponse{}
	return answer, a.Call(ctx, api.VerbToken, api.TokenRequest{}, answer)
}

// credential prints a token that was kept, or else another, for a program that asks.
func (a commands) credential(ctx context.Context) error {
	place := a.tokenPlace()
	token, kept := place.read(a.Now())
	if !kept || token.For == a.Parent {
		given, err := a.askToken(ctx)
		if err != nil {
			return err
		}
		token = keptToken{Token: given.Token, Ends: given.Ends}
	}
	token.For = a.Parent
	place.keep(token)
	return session.PrintJSON(a.Out, clientauth.ExecCredential{
		TypeMeta: metav1.TypeMeta{APIVersion: clientauth.SchemeGroupVersion.String(), Kind: "ExecCredential"},
		Status:   &clientauth.ExecCredentialStatus{Token: token.Token, ExpirationTimestamp: &token.Ends},
	})
}
