package door

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/overlay"
	"flotilla/core/strict"
	"flotilla/core/validate"
	"flotilla/core/window"
)

// maxDocuments is how many documents one apply may hold.
const maxDocuments = 500

// document is one thing a user wants, as read.
type document struct {
	validate.Decoded
	// object is set for content.
	object content.Object
	// overlay is the part of it that documents do not set.
	overlay map[string]any
	notes   []string
}

// readDocuments reads all documents, each with the overlay of its object, and collects what is wrong
// with any of them.
func (d *Door) readDocuments(ctx context.Context, raw []json.RawMessage) ([]document, *refusal, error) {
	bodies, overlays := make([]json.RawMessage, len(raw)), make([]map[string]any, len(raw))
	for i := range raw {
		var err error
		if bodies[i], overlays[i], err = d.overlaid(ctx, raw[i]); err != nil {
			return nil, nil, err
		}
	}
	unknown := make([][]string, len(raw))
	for i := range bodies {
		var err error
		if bodies[i], unknown[i], err = d.unredacted(ctx, bodies[i]); err != nil {
			return nil, nil, err
		}
	}
	documents, wrong := d.readAll(bodies)
	for i := range documents {
		wrong.refuseDigests(i+1, &documents[i], unknown[i])
	}
	for i := range documents {
		if documents[i].overlay = overlays[i]; len(overlays[i]) > 0 {
			documents[i].notes = append(documents[i].notes, overlay.Note(overlays[i]))
		}
	}
	return documents, wrong, nil
}

func (d *Door) readAll(raw []json.RawMessage) ([]document, *refusal) {
	var wrong refusal
	documents := make([]document, 0, len(raw))
	first := map[string]int{}
	for i, body := range raw {
		read, faults := d.readDocument(body, &wrong)
		for _, fault := range faults {
			if fault.Document = i + 1; fault.Object == "" {
				fault.Object = fmt.Sprintf("document %d", i+1)
			}
			wrong.faults = append(wrong.faults, fault)
		}
		if read.Object.Name != "" {
			key := content.Key(read.Object)
			if before, twice := first[key]; twice {
				wrong.faults = append(wrong.faults, strict.Fault{
					Kind: strict.FaultDuplicate, Object: read.Object.String(), Document: i + 1, Path: "metadata.name", Expected: "each object once in one apply",
					Found: fmt.Sprintf("the same object in documents %d and %d", before, i+1),
				})
			} else {
				first[key] = i + 1
			}
		}
		documents = append(documents, read)
	}
	return documents, &wrong
}

func (d *Door) readDocument(raw json.RawMessage, wrong *refusal) (document, strict.Faults) {
	decoded, faults := validate.Decode(raw)
	read := document{Decoded: decoded}
	faults = append(faults, validate.NodePoolZones(validate.As[api.NodePool](&decoded), window.Zones(time.LoadLocation).Known)...)
	if len(raw) > validate.MaxObjectBytes {
		wrong.tooLarge += len(faults)
	}
	if len(faults) > 0 {
		return read, faults
	}
	read.notes = append(read.notes, decoded.Notes...)
	if note := read.DropServerSet(); note != "" {
		read.notes = append(read.notes, note)
	}
	if read.IsContent() {
		return d.readContent(read)
	}
	return read, nil
}

// readContent makes content of a document: an object of a namespaced kind without namespace lies in
// namespace "default", as everywhere in Kubernetes.
func (d *Door) readContent(read document) (document, strict.Faults) {
	var tree map[string]any
	if err := kjson.Unmarshal(read.Body, &tree); err != nil {
		return read, strict.Faults{{Object: read.Object.String(), Found: err.Error(), Expected: "one JSON object"}}
	}
	read.placeInNamespace(tree)
	made, err := content.New(tree, d.store.Keys)
	if err != nil {
		return read, strict.Faults{{Object: read.Object.String(), Found: err.Error(), Expected: "one JSON object"}}
	}
	read.object, read.Object = made, made.Head.Object
	return read, nil
}

// placeInNamespace gives tree, which the caller owns, the namespace its kind asks for.
func (r *document) placeInNamespace(tree map[string]any) {
	inNamespace, known := api.KindNamespaced(content.GroupOf(r.Object.APIVersion), r.Object.Kind)
	switch {
	case !known:
	case inNamespace && r.Object.Namespace == "":
		setNamespace(tree, "default")
		r.notes = append(r.notes, `put into namespace "default", which no placement selects: give metadata.namespace`)
	case !inNamespace && r.Object.Namespace != "":
		metadata, _ := tree["metadata"].(map[string]any)
		delete(metadata, "namespace")
		r.notes = append(r.notes, "metadata.namespace ignored: a "+r.Object.Kind+" lies outside namespaces")
	}
}

func setNamespace(tree map[string]any, namespace string) {
	if metadata, ok := tree["metadata"].(map[string]any); ok {
		metadata["namespace"] = namespace
	}
}

// bodyOf returns the stored body of a known kind as a tree.
func bodyOf(value any) (map[string]any, error) {
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(value)
	if err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	return tree, nil
}
