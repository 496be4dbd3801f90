package object

import (
	"context"

	"github.com/spf13/cobra"

	"flotilla/hub/flotilla/cli/session"
	"flotilla/hub/flotilla/schema"
)

func (a Commands) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema TYPE",
		Short: "Print the JSON schema of a kind, for editors and validators",
		Long: `Print the JSON schema (draft 7) of the documents of a kind, one and the same with what "flotilla explain" says. Asks no hub. An editor with
yaml-language-server checks and completes a file whose first line names the schema:

  # yaml-language-server: $schema=nodepool.json

A schema knows the form of a document; rules between fields only "flotilla apply --dry-run=client" knows.`,
		Example: `  flotilla schema nodepool > nodepool.json`,
		Args:    session.OneWord("the kind, like placement or nodepool"),
		RunE: a.Do(func(_ context.Context, args []string) error {
			root, _, err := described(args[0])
			if err != nil {
				return err
			}
			return session.PrintJSON(a.Out, schema.JSON(root.Name))
		}),
	}
}
