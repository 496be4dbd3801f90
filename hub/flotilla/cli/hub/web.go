package hub

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/session"
)

// PageLink is the JSON of `flotilla web -o json`.
type PageLink struct {
	Link string      `json:"link"`
	Ends metav1.Time `json:"ends"`
}

func (a commands) webCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "web",
		Short: "Print a link with which to look at the fleet in a browser",
		Long: `Print a link with which to look at the fleet in a browser. It lets in once, within a minute, whoever opens it, under
your name and with your role, for eight hours at most: keep it to yourself. When your credentials are revoked, renewed or
end, so does that.`,
		Example: `  flotilla web`,
		Args:    session.NoArgs,
		RunE:    a.Do(func(ctx context.Context, _ []string) error { return a.web(ctx, format) }),
	}
	cmd.Flags().StringVarP(&format, "output", "o", "", "json")
	return cmd
}

func (a commands) web(ctx context.Context, format string) error {
	if err := a.Format(format, "json"); err != nil {
		return err
	}
	var answer api.WebResponse
	if err := a.Call(ctx, api.VerbWeb, api.WebRequest{}, &answer); err != nil {
		return err
	}
	if a.Machine {
		return session.PrintJSON(a.Out, PageLink{Link: answer.Link(), Ends: answer.Ends})
	}
	a.Printf("%s\n", answer.Link())
	a.Note("it lets in once, until %s, with your name and role", answer.Ends.UTC().Format(time.RFC3339))
	return nil
}
