package draft

import (
	"context"
	"encoding/json"
	"fmt"

	kjson "k8s.io/apimachinery/pkg/util/json"

	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/strict"
)

// redacted is a body with digests in the place of values of Secrets.
func (f *Draft) redacted(body json.RawMessage) (json.RawMessage, error) {
	var tree map[string]any
	if err := kjson.Unmarshal(body, &tree); err != nil {
		return nil, fmt.Errorf("decoding: %w", err)
	}
	content.Redact(tree, f.desk.store.Keys)
	return json.Marshal(tree)
}

// unredacted is a document with the values of what is stored in the place of their digests, so that what `get` shows can
// be applied again, or, hidden, only where they stay hidden. It lists the paths of digests in whose place no value stands.
func (d *Desk) unredacted(ctx context.Context, raw json.RawMessage, hidden bool, seen map[string]uint64) (whole json.RawMessage, unknown []string, err error) {
	return content.UnredactDocument(raw, func(ref api.ObjectRef) (json.RawMessage, error) {
		stored, found := d.storedOf(ref, seen)
		if !found || stored.Digest == "" {
			return json.RawMessage("{}"), nil
		}
		return d.whole(ctx, &stored)
	}, hidden, d.store.Keys)
}

// refuseDigests refuses a document in which digests stand where values belong, hidden as terms say.
func (r *refusal) refuseDigests(number int, doc *Document, paths []string, hidden bool) {
	found, expected := "a digest, which is shown in the place of another value than the one that is stored", "a value; `flotilla get --show-secrets -o yaml` shows them"
	if hidden {
		found = "a digest, which is shown in the place of a value that whoever asks may not read"
		expected = "the object as it is stored, but for metadata; or the role " + string(api.NeededToRead("v1", "Secret"))
	}
	for _, path := range paths {
		r.faults = append(r.faults, strict.Fault{Object: doc.Object.String(), Document: number, Path: path, Found: found, Expected: expected})
	}
}
