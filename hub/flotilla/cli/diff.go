package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"flotilla/core/api"
	"flotilla/core/content"
)

func (a *app) diffCommand() *cobra.Command {
	s := &source{}
	cmd := &cobra.Command{
		Use:   "diff -f FILE… | -k DIR",
		Short: "Show how files differ from what the hub holds; exit 1 when they do",
		Example: `  flotilla diff -f web.yaml
  flotilla plan -f web.yaml   # what members would see of it`,
		Args: noArgs,
		RunE: a.run(func(ctx context.Context, _ []string) error { return a.diff(ctx, s) }),
	}
	s.addFlags(cmd.Flags())
	a.namespaceFlag(cmd.Flags())
	return cmd
}

func (a *app) diff(ctx context.Context, s *source) error {
	documents, err := a.read(s)
	if err != nil {
		return err
	}
	request, err := applyRequest(documents, true)
	if err != nil {
		return err
	}
	var reply api.ApplyResponse
	if err := a.call(ctx, api.VerbApply, request, &reply); err != nil {
		return describeFaults(err, documents)
	}
	differ := false
	for i := range documents {
		if i < len(reply.Results) && reply.Results[i].Action == api.ActionUnchanged {
			continue
		}
		text, err := a.diffOne(ctx, &documents[i])
		if err != nil {
			return err
		}
		differ = true
		a.printf("%s", a.coloured(text))
	}
	if !differ {
		a.printf("no differences\n")
		return nil
	}
	a.nextWith(s, "plan")
	return different()
}

func (a *app) diffOne(ctx context.Context, d *document) (string, error) {
	r := ref{resourceKind: kindOfObject(d.ref.APIVersion, d.ref.Kind), namespace: d.ref.Namespace, name: d.ref.Name}
	before := ""
	live, err := a.fetch(ctx, r)
	switch {
	case isNotFound(err):
	case err != nil:
		return "", err
	default:
		body, err := live.MarshalJSON()
		if err != nil {
			return "", fmt.Errorf("encoding %s: %w", r, err)
		}
		if before, err = comparable(body); err != nil {
			return "", err
		}
	}
	after, err := comparable(d.body)
	if err != nil {
		return "", err
	}
	return unifiedDiff(d.ref.String(), before, after), nil
}

// comparable renders an object as both sides of a diff show it: defaults filled in, nothing that
// only the hub sets.
func comparable(body json.RawMessage) (string, error) {
	decoded, faults := api.Decode(body)
	if err := faults.Err(); err != nil {
		return "", err
	}
	if decoded.Placement != nil {
		api.Default(decoded.Placement)
		decoded.Placement.Status = nil
		full, err := json.Marshal(decoded.Placement)
		if err != nil {
			return "", fmt.Errorf("encoding: %w", err)
		}
		body = full
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(body); err != nil {
		return "", fmt.Errorf("decoding: %w", err)
	}
	stripped, _ := content.StripServerSet(obj.Object)
	delete(stripped, "status")
	if metadata, ok := stripped["metadata"].(map[string]any); ok {
		delete(metadata, "creationTimestamp")
	}
	text, err := yaml.Marshal(stripped)
	if err != nil {
		return "", fmt.Errorf("encoding: %w", err)
	}
	return string(text), nil
}

// coloured paints the lines of a diff or plan on a terminal.
func (a *app) coloured(text string) string {
	if !a.Terminal {
		return text
	}
	const green, red, yellow, plain = "\033[32m", "\033[31m", "\033[33m", "\033[0m"
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		body := strings.TrimSuffix(line, "\n")
		paint := ""
		switch trimmed := strings.TrimLeft(body, " "); {
		case strings.HasPrefix(trimmed, "+"):
			paint = green
		case strings.HasPrefix(trimmed, "- ") || strings.HasPrefix(body, "-"):
			paint = red
		case strings.HasPrefix(trimmed, "~ ") || strings.HasPrefix(trimmed, "! "):
			paint = yellow
		}
		if paint != "" {
			lines[i] = paint + body + plain + line[len(body):]
		}
	}
	return strings.Join(lines, "")
}
