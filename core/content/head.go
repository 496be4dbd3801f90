package content

import (
	"fmt"

	"flotilla/core/api"
	"flotilla/core/envelope"
	"flotilla/core/seal"
)

// Object is one content document made ready for the hub.
type Object struct {
	// Head has Object, Labels, Digest, Size, Manifest, Bare, Excluded and Wrapped set; the door adds identity and
	// time.
	Head api.Spec
	// Body is what the user applied without what the server sets; its digest is Head.Digest.
	Body []byte
	// Manifest is the body that snapshots refer to; its digest is Head.ManifestDigest(). It is equal to
	// Body when there was nothing more to strip.
	Manifest []byte
	// Wrapped are the bodies that snapshots refer to in the place of an envelope, as Head.Wrapped lists them.
	Wrapped [][]byte
	// Ignored are the paths of server-set fields that were left out.
	Ignored []string
}

// New reads a document that carries apiVersion, kind and metadata.name, and digests it with keys. It errs only
// when the document is not JSON-like.
func New(document map[string]any, keys *seal.Keyring) (Object, error) {
	ref := RefOf(document)
	stored, ignored := StripServerSet(document)
	body, err := Canonical(stored)
	if err != nil {
		return Object{}, fmt.Errorf("reading %s: %w", ref, err)
	}
	manifest, err := Canonical(Strip(document))
	if err != nil {
		return Object{}, fmt.Errorf("reading %s: %w", ref, err)
	}
	delete(stored, "metadata")
	bare, err := Canonical(stored)
	if err != nil {
		return Object{}, fmt.Errorf("reading %s: %w", ref, err)
	}
	head := api.Spec{
		Header:   api.NewHeader(api.KindSpec),
		Object:   ref,
		Labels:   labelsOf(document),
		Digest:   keys.Digest(body),
		Size:     len(body),
		Bare:     keys.Digest(bare),
		Excluded: excluded(document),
	}
	if digest := keys.Digest(manifest); digest != head.Digest {
		head.Manifest = digest
	}
	made := Object{Head: head, Body: body, Manifest: manifest, Ignored: ignored}
	return made, made.open(document, keys)
}

// open fills in what lies in an envelope, but for what is no object.
func (o *Object) open(document map[string]any, keys *seal.Keyring) error {
	for _, item := range envelope.Open(document) {
		if item.Object == nil {
			continue
		}
		ref := RefOf(item.Object)
		body, err := Canonical(Strip(item.Object))
		if err != nil {
			return fmt.Errorf("reading %s in %s: %w", ref, o.Head.Object, err)
		}
		o.Wrapped = append(o.Wrapped, body)
		o.Head.Wrapped = append(o.Head.Wrapped, api.Wrapped{
			Manifest: api.Manifest{ObjectRef: ref, Digest: keys.Digest(body), Envelope: o.Head.Object.String()}, Size: len(body),
		})
	}
	return nil
}

// RefOf returns the name of an object; absent parts are empty.
func RefOf(document map[string]any) api.ObjectRef {
	metadata, _ := document["metadata"].(map[string]any)
	apiVersion, _ := document["apiVersion"].(string)
	kind, _ := document["kind"].(string)
	namespace, _ := metadata["namespace"].(string)
	name, _ := metadata["name"].(string)
	return api.ObjectRef{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name}
}

// Key is the identity of an object on the hub, "group|kind|namespace|name". The version is not part of
// it: a Deployment is the same object in apps/v1 and apps/v1beta1.
func Key(ref api.ObjectRef) string {
	return keyOf(kindOf(ref), ref.Namespace, ref.Name)
}

func keyOf(gk groupKind, namespace, name string) string {
	return gk.group + "|" + gk.kind + "|" + namespace + "|" + name
}

func labelsOf(document map[string]any) map[string]string {
	metadata, _ := document["metadata"].(map[string]any)
	held, _ := metadata["labels"].(map[string]any)
	if len(held) == 0 {
		return nil
	}
	labels := make(map[string]string, len(held))
	for key, value := range held {
		if text, ok := value.(string); ok {
			labels[key] = text
		}
	}
	return labels
}
