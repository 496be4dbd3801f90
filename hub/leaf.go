package main

import (
	"errors"

	"github.com/spf13/cobra"

	"flotilla/bus/server"
	"flotilla/configs/terminal"
)

// leafCommand makes what a leaf node needs.
func leafCommand() *cobra.Command {
	var leaf server.Leaf
	var accounts, out string
	c := &cobra.Command{
		Use:   "leaf NAME --accounts FOLDER --url URL --member MEMBER --out FOLDER",
		Short: "Make what a leaf node at an edge needs",
		Long: `Make what a NATS server at an edge needs to be a leaf node of the servers of a fleet: agents of its members connect to it instead. Its
links let nothing pass but what those agents may do. The keys of AGENTS and SYS are needed in FOLDER/offline for as long.`,
		Example: `  hub accounts leaf edge --accounts accounts --url nats://n1:7422 --member oslo --out edge`,
		Args:    cobra.ExactArgs(1), SilenceUsage: true, SilenceErrors: true,
		RunE: func(c *cobra.Command, args []string) error {
			if accounts == "" || out == "" {
				return errors.New("found no --accounts or no --out, expected both: the folder of hub accounts, and one to write to")
			}
			leaf.Name = args[0]
			files, err := server.MakeLeaf(accounts, out, leaf)
			if err != nil {
				return err
			}
			return printAccounts(c.OutOrStdout(), out, files)
		},
	}
	c.SetFlagErrorFunc(terminal.SuggestFlag)
	c.Flags().StringVar(&accounts, "accounts", "", "folder of hub accounts")
	c.Flags().StringArrayVar(&leaf.URLs, "url", nil, "leaf node port of a server of the fleet; may be repeated")
	c.Flags().StringArrayVar(&leaf.Members, "member", nil, "member whose agent connects to the leaf node; may be repeated")
	c.Flags().StringVar(&out, "out", "", "folder to write to, missing or empty")
	return c
}
