package show

import (
	"context"
	"encoding/json"
	"fmt"

	kjson "k8s.io/apimachinery/pkg/util/json"

	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/hub/door/records"
)

// putManaged puts what clients keep on an object into what is shown of it, with digests in the place of values of Secrets unless
// they are wanted, and the version at which it is shown.
func (v *View) putManaged(ctx context.Context, spec *api.Spec, rendered json.RawMessage, values bool, version string) (json.RawMessage, error) {
	managed, err := records.Managed(ctx, v.store.Content, spec)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := kjson.Unmarshal(rendered, &tree); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", spec.Object, err)
	}
	if !values {
		content.Redact(map[string]any{"apiVersion": spec.Object.APIVersion, "kind": spec.Object.Kind, "metadata": managed.Metadata}, v.store.Keys)
	}
	managed.Put(tree)
	tree["metadata"].(map[string]any)["resourceVersion"] = version
	if rendered, err = json.Marshal(tree); err != nil {
		return nil, fmt.Errorf("encoding %s: %w", spec.Object, err)
	}
	return rendered, nil
}
