package preview

import (
	"encoding/json"
	"fmt"

	kjson "k8s.io/apimachinery/pkg/util/json"

	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/render"
	"flotilla/core/seal"
	"flotilla/core/strict"
	"flotilla/core/validate"
)

// Files are the content and the overrides of files.
type Files struct {
	index     *content.Index
	bodies    map[string]map[string]any
	overrides []*render.Override
	keys      *seal.Keyring
}

// ReadFiles takes the content and the overrides out of documents; what else is there is left. Keys digest it. Faults number the
// documents, from 1.
func ReadFiles(documents []json.RawMessage, keys *seal.Keyring) (*Files, strict.Faults) {
	f := &Files{index: content.NewIndex(), bodies: map[string]map[string]any{}, keys: keys}
	var faults strict.Faults
	for i, document := range documents {
		decoded, wrong := validate.Decode(document)
		if len(wrong) == 0 {
			wrong = f.read(document, &decoded)
		}
		for _, fault := range wrong {
			if fault.Document = i + 1; fault.Object == "" {
				fault.Object = decoded.Object.String()
			}
			faults = append(faults, fault)
		}
	}
	return f, append(faults, render.Clashes(f.overrides, nil)...)
}

func (f *Files) read(document json.RawMessage, decoded *validate.Decoded) strict.Faults {
	var err error
	switch {
	case decoded.IsContent():
		err = f.take(document)
	case decoded.Object.Kind == api.KindClusterResourceOverride, decoded.Object.Kind == api.KindResourceOverride:
		var o *render.Override
		if o, err = render.Read(&api.Spec{Object: decoded.Object, Body: document}); err == nil {
			f.overrides = append(f.overrides, o)
		}
	}
	if err != nil {
		return strict.Faults{{Kind: strict.FaultType, Found: err.Error(), Expected: "an object"}}
	}
	return nil
}

// take keeps an object, and what lies in it where it is an envelope.
func (f *Files) take(document json.RawMessage) error {
	var tree map[string]any
	if err := kjson.Unmarshal(document, &tree); err != nil {
		return err
	}
	o, err := content.New(tree, f.keys)
	if err != nil {
		return err
	}
	f.index.Set(o.Head)
	if err := f.keep(o.Head.ManifestDigest(), o.Manifest); err != nil {
		return err
	}
	for i := range o.Wrapped {
		if err := f.keep(o.Head.Wrapped[i].Digest, o.Wrapped[i]); err != nil {
			return err
		}
	}
	return nil
}

func (f *Files) keep(digest string, body []byte) error {
	var tree map[string]any
	err := kjson.Unmarshal(body, &tree)
	f.bodies[digest] = tree
	return err
}

// Show shows a placement of the files on a member.
func (f *Files) Show(p *api.Placement, m *api.Member) (Placement, error) {
	in, err := f.input(p, m)
	if err != nil {
		return Placement{}, err
	}
	return Show(in)
}

func (f *Files) input(p *api.Placement, m *api.Member) (*Input, error) {
	manifests, err := content.Select(p.Spec.ResourceSelectors, p.Namespace, f.index)
	if err != nil {
		return nil, fmt.Errorf("%s/%s: %w", p.Kind, p.Key(), err)
	}
	return &Input{
		Placement: p, Member: m, Manifests: manifests, Overrides: f.overrides, Keys: f.keys,
		Body: func(digest string) (map[string]any, error) { return f.bodies[digest], nil },
	}, nil
}
