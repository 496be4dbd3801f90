package cli

import (
	"context"

	"github.com/spf13/cobra"

	"flotilla/core/api"
)

// versions is the JSON of `flotilla version -o json`.
type versions struct {
	Client clientVersion        `json:"client"`
	Hub    *api.VersionResponse `json:"hub,omitempty"`
}

type clientVersion struct {
	Version string `json:"version"`
	Level   int    `json:"level"`
}

func (a hubCommands) versionCommand() *cobra.Command {
	var clientOnly bool
	var format string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the version of this client and of the hub",
		Args:  noArgs,
		RunE: a.do(func(ctx context.Context, _ []string) error {
			return a.version(ctx, clientOnly, format)
		}),
	}
	cmd.Flags().BoolVar(&clientOnly, "client", false, "only this client; asks no hub")
	cmd.Flags().StringVarP(&format, "output", "o", "", "json")
	return cmd
}

func (a hubCommands) version(ctx context.Context, clientOnly bool, format string) error {
	if format != "" && format != "json" {
		return usagef("unknown output format %q, expected json", format)
	}
	v := versions{Client: clientVersion{Version: api.Version, Level: api.Level}}
	var err error
	if !clientOnly {
		hub := &api.VersionResponse{}
		if err = a.call(ctx, api.VerbVersion, struct{}{}, hub); err == nil {
			v.Hub = hub
		}
	}
	if format == "json" {
		if printErr := printJSON(a.Out, v); printErr != nil {
			return printErr
		}
		return err
	}
	a.printf("client  %s, level %d\n", v.Client.Version, v.Client.Level)
	if v.Hub != nil {
		h := v.Hub
		a.printf("hub     %s, level %d, fleet %s, leader %s, term %d, NATS %s\n", h.Version, h.Level, h.Fleet, h.Leader, h.Term, h.Server)
	}
	return err
}
