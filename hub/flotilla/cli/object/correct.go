package object

import (
	"context"

	"github.com/spf13/cobra"

	"flotilla/core/strict"
	"flotilla/hub/flotilla/cli/offline"
	"flotilla/hub/flotilla/cli/session"
)

func (a Commands) correctCommand() *cobra.Command {
	o := &offline.Source{}
	cmd := &cobra.Command{
		Use:   "correct -f FILE...",
		Short: "Print documents with what is obviously wrong in them put right",
		Long: `Prints the documents as YAML. Where a fault has an obvious correction (a map where a list of maps
belongs, a number where a string belongs, a misspelt field) the corrected form is printed. Asks no
hub and changes nothing. A document with a fault that only its author can mend is left out; its
faults are listed, and the exit code is 3.`,
		Example: `  flotilla correct -f web.yaml > mended.yaml
  flotilla correct -f web.yaml | flotilla apply -f -`,
		Args: session.NoArgs,
		RunE: a.Do(func(context.Context, []string) error { return a.correct(o) }),
	}
	o.AddFlags(cmd.Flags())
	a.NamespaceFlag(cmd.Flags())
	return cmd
}

func (a Commands) correct(s *offline.Source) error {
	a.Machine = true
	documents, err := s.Read(a.Client)
	if err != nil {
		return err
	}
	var left strict.Faults
	for i := range documents {
		text, faults, err := offline.Corrected(&documents[i])
		switch {
		case err != nil:
			return err
		case len(faults) > 0:
			left = append(left, documents[i].Placed(faults)...)
		default:
			a.Printf("---\n%s", text)
		}
	}
	if len(left) > 0 {
		return offline.DescribeFaults(left, documents, s, false)
	}
	return nil
}
