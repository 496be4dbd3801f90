package cli

import (
	"context"

	"flotilla/core/strict"

	"github.com/spf13/cobra"
)

func (a objectCommands) correctCommand() *cobra.Command {
	o := &source{}
	cmd := &cobra.Command{
		Use:   "correct -f FILE...",
		Short: "Print documents with what is obviously wrong in them put right",
		Long: `Prints the documents as YAML. Where a fault has an obvious correction (a map where a list of maps
belongs, a number where a string belongs, a misspelt field) the corrected form is printed. Asks no
hub and changes nothing. A document with a fault that only its author can mend is left out; its
faults are listed, and the exit code is 3.`,
		Example: `  flotilla correct -f web.yaml > mended.yaml
  flotilla correct -f web.yaml | flotilla apply -f -`,
		Args: noArgs,
		RunE: a.do(func(context.Context, []string) error { return a.correct(o) }),
	}
	o.addFlags(cmd.Flags())
	a.namespaceFlag(cmd.Flags())
	return cmd
}

func (a objectCommands) correct(s *source) error {
	a.machine = true
	documents, err := s.read(a.Client)
	if err != nil {
		return err
	}
	var left strict.Faults
	for i := range documents {
		text, faults, err := corrected(&documents[i])
		switch {
		case err != nil:
			return err
		case len(faults) > 0:
			left = append(left, documents[i].placed(faults)...)
		default:
			a.printf("---\n%s", text)
		}
	}
	if len(left) > 0 {
		return describeFaults(left, documents, s, false)
	}
	return nil
}
