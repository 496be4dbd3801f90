package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/core/validate"
	"flotilla/core/window"
)

func (a *app) correctCommand() *cobra.Command {
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
		RunE: a.run(func(context.Context, []string) error { return a.correct(o) }),
	}
	o.addFlags(cmd.Flags())
	a.namespaceFlag(cmd.Flags())
	return cmd
}

func (a *app) correct(s *source) error {
	a.machine = true
	documents, err := a.read(s)
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

// corrected is a document as it would be accepted, or the faults that keep it from that.
func corrected(d *document) (string, strict.Faults, error) {
	decoded, faults := validate.Decode(d.body)
	switch zones := zoneFaults(&decoded); {
	case len(zones) > 0:
		return "", append(faults, zones...), nil
	case len(faults) == 0:
		text, err := strict.YAML(d.body)
		return text, nil, err
	case decoded.Corrected != "":
		return decoded.Corrected, nil, nil
	default:
		return "", faults, nil
	}
}

// zoneFaults are about time zones of budgets that nobody knows, which reading a document does not find.
func zoneFaults(d *validate.Decoded) strict.Faults {
	return validate.NodePoolZones(validate.As[api.NodePool](d), window.Zones(time.LoadLocation).Known)
}
