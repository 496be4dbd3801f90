package records

import (
	"context"
	"encoding/json"
	"fmt"

	kjson "k8s.io/apimachinery/pkg/util/json"

	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/core/content"
)

// Managed is what clients keep on an object that is stored; empty when they keep nothing.
func Managed(ctx context.Context, bodies *streams.Content, stored *api.Spec) (*content.Managed, error) {
	held := &content.Managed{Finalizers: stored.Finalizers}
	text := stored.Managed
	if stored.SealedManaged != "" {
		sealed, err := bodies.Get(ctx, stored.SealedManaged)
		if err != nil {
			return nil, fmt.Errorf("reading what clients keep on %s: %w", stored.Object, err)
		}
		text = json.RawMessage(sealed)
	}
	if len(text) == 0 {
		return held, nil
	}
	if err := kjson.Unmarshal(text, &held.Metadata); err != nil {
		return nil, fmt.Errorf("decoding what clients keep on %s: %w", stored.Object, err)
	}
	return held, nil
}
