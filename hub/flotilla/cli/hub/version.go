package hub

import (
	"context"

	"github.com/spf13/cobra"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/session"
)

// Versions is the JSON of `flotilla version -o json`.
type Versions struct {
	Client clientVersion        `json:"client"`
	Hub    *api.VersionResponse `json:"hub,omitempty"`
}

type clientVersion struct {
	Version string `json:"version"`
	Level   int    `json:"level"`
}

func (a commands) versionCommand() *cobra.Command {
	var clientOnly bool
	var format string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the version of this client and of the hub",
		Args:  session.NoArgs,
		RunE: a.Do(func(ctx context.Context, _ []string) error {
			return a.version(ctx, clientOnly, format)
		}),
	}
	cmd.Flags().BoolVar(&clientOnly, "client", false, "only this client; asks no hub")
	cmd.Flags().StringVarP(&format, "output", "o", "", "json")
	return cmd
}

func (a commands) version(ctx context.Context, clientOnly bool, format string) error {
	if err := a.Format(format, "json"); err != nil {
		return err
	}
	v := Versions{Client: clientVersion{Version: api.Version, Level: api.Level}}
	var err error
	if !clientOnly {
		hub := &api.VersionResponse{}
		if err = a.Call(ctx, api.VerbVersion, struct{}{}, hub); err == nil {
			v.Hub = hub
		}
	}
	if format == "json" {
		if printErr := session.PrintJSON(a.Out, v); printErr != nil {
			return printErr
		}
		return err
	}
	a.Printf("client  %s, level %d\n", v.Client.Version, v.Client.Level)
	if v.Hub != nil {
		h := v.Hub
		a.Printf("hub     %s, level %d, fleet %s, leader %s, term %d, NATS %s\n", h.Version, h.Level, h.Fleet, h.Leader, h.Term, h.Server)
	}
	return err
}
