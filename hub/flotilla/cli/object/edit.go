package object

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"flotilla/configs"
	"flotilla/configs/files"
	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/offline"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

const editHead = `# Edit the object and save. An unchanged or empty file changes nothing.
# Lines with # in front are left out.
`

func (a Commands) editCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "edit TYPE/NAME",
		Short:   "Change an object in your editor ($FLOTILLA_EDITOR, $VISUAL, $EDITOR, or vi)",
		Example: `  EDITOR=nano flotilla edit placement/web`,
		RunE:    a.Do(func(ctx context.Context, args []string) error { return a.edit(ctx, args) }),
	}
	a.NamespaceFlag(cmd.Flags())
	return cmd
}

func (a Commands) edit(ctx context.Context, args []string) error {
	r, err := resource.OneRef(args, a.Namespace)
	if err != nil {
		return err
	}
	if err := resource.OwnedByMember(r); err != nil {
		return err
	}
	obj, err := a.Fetch(ctx, r)
	if err != nil {
		return err
	}
	version := obj.GetResourceVersion()
	before := editable(obj)
	text, err := yaml.Marshal(before)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", r, err)
	}
	path, err := writeEditFile(r, text)
	if err != nil {
		return err
	}
	if err := a.Edit(ctx, path); errors.Is(err, exec.ErrNotFound) {
		_ = os.Remove(path)
		return &session.Failure{Code: session.ExitUsage, Message: fmt.Sprintf("%s: no editor: %v", r, err), Next: "FLOTILLA_EDITOR=nano flotilla edit " + r.String()}
	} else if err != nil {
		return fmt.Errorf("editing %s: %w", r, err)
	}
	edited, err := files.Read(path, files.Most)
	if err != nil {
		return fmt.Errorf("reading back %s: %w", r, err)
	}
	after, err := readEdited(path, edited)
	var delta json.RawMessage
	if err == nil {
		delta, err = editDelta(before, after)
	}
	if err != nil {
		return &session.Failure{Code: session.ExitRefused, Message: fmt.Sprintf("%s: %v; your text is kept in %s", r, err, path)}
	}
	if delta == nil {
		_ = os.Remove(path)
		a.Printf("%s unchanged: edit cancelled, the text is as it was\n", resource.ShownName(r.Object()))
		return nil
	}
	request := api.PatchRequest{Request: resource.NewRequestID(), Object: r.Object(), Patch: delta, ResourceVersion: version}
	var reply api.ApplyResult
	if err := a.Call(ctx, api.VerbPatch, request, &reply); err != nil {
		err = offline.DescribeFaults(err, []offline.Document{{Ref: r.Object(), File: *after}}, &offline.Source{Files: []string{path}}, true)
		f := session.FailureOf(resource.NotChanged(err, "flotilla correct -f "+path))
		f.Message += fmt.Sprintf("\nyour text is kept in %s", path)
		return f
	}
	_ = os.Remove(path)
	a.Report(&reply, "edited", false)
	a.Next("flotilla describe %s", r)
	return nil
}

// editable is the object without what only the hub writes.
func editable(obj *unstructured.Unstructured) map[string]any {
	copied := obj.DeepCopy().Object
	delete(copied, "status")
	if metadata, ok := copied["metadata"].(map[string]any); ok {
		for _, key := range []string{"resourceVersion", "uid", "generation", "creationTimestamp", "managedFields"} {
			delete(metadata, key)
		}
	}
	return copied
}

func writeEditFile(r resource.Ref, text []byte) (string, error) {
	f, err := os.CreateTemp("", "flotilla-"+strings.ReplaceAll(filepath.Base(r.Name), "/", "-")+"-*.yaml")
	if err != nil {
		return "", fmt.Errorf("making a file to edit: %w", err)
	}
	_, err = f.Write(append([]byte(editHead), text...))
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return "", fmt.Errorf("writing %s: %w", f.Name(), err)
	}
	return f.Name(), nil
}

// readEdited reads the edited text, nil when nothing is left of it.
func readEdited(path string, edited []byte) (*configs.Document, error) {
	documents, err := configs.Parse(path, edited)
	switch {
	case err != nil:
		return nil, err
	case len(documents) == 0:
		return nil, nil
	case len(documents) > 1:
		return nil, fmt.Errorf("found %d documents, expected one", len(documents))
	}
	return &documents[0], nil
}

// editDelta is the merge patch from before to the edited document, nil when nothing changed.
func editDelta(before map[string]any, edited *configs.Document) (json.RawMessage, error) {
	if edited == nil {
		return nil, nil
	}
	var after map[string]any
	if err := json.Unmarshal(edited.JSON, &after); err != nil {
		return nil, err
	}
	old, err := normalised(before)
	if err != nil {
		return nil, err
	}
	delta := mergePatch(old, after)
	if len(delta) == 0 {
		return nil, nil
	}
	return json.Marshal(delta)
}

func normalised(m map[string]any) (map[string]any, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	return out, json.Unmarshal(body, &out)
}

// mergePatch is the JSON merge patch (RFC 7386) that turns one object into another.
func mergePatch(from, to map[string]any) map[string]any {
	delta := map[string]any{}
	for key := range from {
		if _, kept := to[key]; !kept {
			delta[key] = nil
		}
	}
	for key, want := range to {
		now, exists := from[key]
		if exists && reflect.DeepEqual(now, want) {
			continue
		}
		wantMap, isMap := want.(map[string]any)
		nowMap, wasMap := now.(map[string]any)
		if isMap && wasMap {
			delta[key] = mergePatch(nowMap, wantMap)
			continue
		}
		delta[key] = want
	}
	return delta
}
