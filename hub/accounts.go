package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"flotilla/bus/server"
	"flotilla/configs"
	"flotilla/configs/terminal"
)

// accountsCommand makes the operator and the accounts of servers of one's own.
func accountsCommand() *cobra.Command {
	fleet, out := configs.DefaultHub().Fleet, ""
	c := &cobra.Command{
		Use:   "accounts --out FOLDER",
		Short: "Make the accounts of a fleet for NATS servers of your own",
		Long: `Make an operator with the accounts HUB, AGENTS, PEOPLE and SYS of a fleet, for NATS servers of your own in operator mode, and write
what servers, hubs and people need of them. Nothing is overwritten: the folder must be missing or empty.`,
		Example: `  hub accounts --out accounts`,
		Args:    cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(c *cobra.Command, _ []string) error {
			if out == "" {
				return errors.New("found no --out, expected a folder to write to: hub accounts --out accounts")
			}
			files, err := server.MakeAccounts(out, fleet)
			if err != nil {
				return err
			}
			return printAccounts(c.OutOrStdout(), out, files)
		},
	}
	c.SetFlagErrorFunc(terminal.SuggestFlag)
	c.AddCommand(leafCommand())
	c.Flags().StringVar(&fleet, "fleet", fleet, "name of the fleet, a DNS label")
	c.Flags().StringVar(&out, "out", out, "folder to write to, missing or empty")
	return c
}

func printAccounts(out io.Writer, folder string, files []server.AccountsFile) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "FILE\tFOR\tHOLDS")
	for _, file := range files {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", filepath.Join(folder, file.Path), file.For, file.Holds)
	}
	return w.Flush()
}
