package object

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/hub/flotilla/cli/offline"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

func (a Commands) diffCommand() *cobra.Command {
	s := &offline.Source{}
	cmd := &cobra.Command{
		Use:   "diff -f FILE… | -k DIR",
		Short: "Show how files differ from what the hub holds; exit 1 when they do",
		Example: `  flotilla diff -f web.yaml
  flotilla plan -f web.yaml   # what members would see of it`,
		Args: session.NoArgs,
		RunE: a.Do(func(ctx context.Context, _ []string) error { return a.diff(ctx, s) }),
	}
	s.AddFlags(cmd.Flags())
	a.NamespaceFlag(cmd.Flags())
	return cmd
}

func (a Commands) diff(ctx context.Context, s *offline.Source) error {
	documents, err := s.Read(a.Client)
	if err != nil {
		return err
	}
	request, err := applyRequest(documents, true)
	if err != nil {
		return err
	}
	request.Show = true
	var reply api.ApplyResponse
	if err := a.Call(ctx, api.VerbApply, request, &reply); err != nil {
		return offline.DescribeFaults(err, documents, s, false)
	}
	differ := false
	for i := range reply.Results {
		result := &reply.Results[i]
		for _, text := range result.Notes {
			a.Note("%s: %s", resource.RefTo(result.Object), text)
		}
		if result.Action == api.ActionUnchanged {
			continue
		}
		text, err := a.diffOne(ctx, result)
		if err != nil {
			return err
		}
		differ = true
		a.Paint(a.ColouredDiff(text))
	}
	if !differ {
		a.Printf("no differences\n")
		return nil
	}
	s.Next(a.Client, "plan")
	return session.Different()
}

// diffOne shows how an object is, and how the hub would store it: with what single changes made of it
// and with defaults.
func (a Commands) diffOne(ctx context.Context, result *api.ApplyResult) (string, error) {
	before := ""
	if result.Action != api.ActionCreated {
		live, err := a.Fetch(ctx, resource.RefTo(result.Object))
		if err != nil {
			return "", err
		}
		if before, err = comparable(live.Object); err != nil {
			return "", err
		}
	}
	stored, err := resource.DecodeObject(result.Body)
	if err != nil {
		return "", err
	}
	after, err := comparable(stored.Object)
	if err != nil {
		return "", err
	}
	return unifiedDiff(result.Object.String(), before, after), nil
}

// comparable renders an object without what only the hub sets.
func comparable(object map[string]any) (string, error) {
	stripped, _ := content.StripServerSet(object)
	text, err := yaml.Marshal(stripped)
	if err != nil {
		return "", fmt.Errorf("encoding: %w", err)
	}
	return string(text), nil
}
