package draft

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
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

// Document is one thing a user wants, as read.
type Document struct {
	validate.Decoded
	// object is set for content.
	object content.Object
	// overlay is the part of it that documents do not set.
	overlay map[string]any
	notes   []string
	// create refuses an object that exists, expect one that the document was not made from; nil: none.
	create bool
	expect *api.Expected
	// managed is what clients keep on the object, nil where documents do not say it.
	managed *content.Managed
}

// Documents are those of one request, with what is wrong with any of them.
type Documents struct {
	All []Document
	// Merged are all of them as they came, but for the overlays of their objects, which are in them.
	Merged []json.RawMessage
	// Seen are the revisions, by key, of the records that they were read with.
	Seen  map[string]uint64
	wrong refusal
}

// Refs are the objects of documents that could be read.
func (r *Documents) Refs() []api.ObjectRef {
	var refs []api.ObjectRef
	for i := range r.All {
		if r.All[i].Object.Kind != "" {
			refs = append(refs, r.All[i].Object)
		}
	}
	return refs
}

// TakeApprovals takes the approval requests out of the documents: they are followed, and not stored.
func (r *Documents) TakeApprovals() []*api.ApprovalRequest {
	var out []*api.ApprovalRequest
	kept := r.All[:0]
	for i := range r.All {
		if request := validate.As[api.ApprovalRequest](&r.All[i].Decoded); request != nil && len(r.wrong.faults) == 0 {
			out = append(out, request)
			continue
		}
		kept = append(kept, r.All[i])
	}
	r.All = kept
	return out
}

// Members are the MemberClusters among documents, by name.
func (r *Documents) Members() map[string]*api.MemberCluster {
	members := map[string]*api.MemberCluster{}
	for i := range r.All {
		if m := validate.As[api.MemberCluster](&r.All[i].Decoded); m != nil {
			members[m.Name] = m
		}
	}
	return members
}

// Read reads documents on some terms, each with the overlay of its object unless it is exact, and collects what is wrong with
// any of them.
func (d *Desk) Read(ctx context.Context, raw []json.RawMessage, on Terms) (*Documents, error) {
	bodies, overlays, seen := slices.Clone(raw), make([]map[string]any, len(raw)), map[string]uint64{}
	for i := range raw {
		if on.Exact {
			break
		}
		var err error
		if bodies[i], overlays[i], err = d.overlaid(ctx, raw[i], seen); err != nil {
			return nil, err
		}
	}
	merged := slices.Clone(bodies)
	unknown, managed := make([][]string, len(raw)), make([]*content.Managed, len(raw))
	for i := range bodies {
		var err error
		if bodies[i], unknown[i], err = d.unredacted(ctx, bodies[i], on.Hidden, seen); err != nil {
			return nil, err
		}
		if !on.Managed {
			continue
		}
		if bodies[i], managed[i], err = parted(bodies[i]); err != nil {
			return nil, err
		}
	}
	read := d.readAll(bodies)
	read.Merged, read.Seen = merged, seen
	on.of(read.All)
	for i := range read.All {
		read.wrong.refuseDigests(i+1, &read.All[i], unknown[i], on.Hidden)
		read.All[i].managed = managed[i]
	}
	for i := range read.All {
		if read.All[i].overlay = overlays[i]; len(overlays[i]) > 0 {
			read.All[i].notes = append(read.All[i].notes, overlay.Note(overlays[i]))
		}
	}
	return read, nil
}

func (d *Desk) readAll(raw []json.RawMessage) *Documents {
	var wrong refusal
	documents := make([]Document, 0, len(raw))
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
	return &Documents{All: documents, wrong: wrong}
}

func (d *Desk) readDocument(raw json.RawMessage, wrong *refusal) (Document, strict.Faults) {
	decoded, faults := validate.Decode(raw)
	read := Document{Decoded: decoded}
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
func (d *Desk) readContent(read Document) (Document, strict.Faults) {
	var tree map[string]any
	if err := kjson.Unmarshal(read.Body, &tree); err != nil {
		return read, strict.Faults{{Object: read.Object.String(), Found: err.Error(), Expected: "one JSON object"}}
	}
	if note := content.PutInNamespace(tree, read.Object); note != "" {
		read.notes = append(read.notes, note)
	}
	made, err := content.New(tree, d.store.Keys)
	if err != nil {
		return read, strict.Faults{{Object: read.Object.String(), Found: err.Error(), Expected: "one JSON object"}}
	}
	read.object, read.Object = made, made.Head.Object
	return read, nil
}

// bodyOf returns the stored body of a known kind as a tree.
func bodyOf(value any) (map[string]any, error) {
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(value)
	if err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	return tree, nil
}

// TooMany refuses a request of n documents, which are none or more than MaxDocuments.
func TooMany(n int) *api.Failure {
	if n == 0 {
		return &api.Failure{Code: api.CodeInvalid, Message: "nothing to apply: no documents", Next: "flotilla apply --help"}
	}
	return &api.Failure{
		Code:    api.CodeTooLarge,
		Message: fmt.Sprintf("%d documents in one apply, expected at most %d: nothing was applied; apply the files one after the other, content before placements", n, MaxDocuments),
		Next:    "flotilla apply --help",
	}
}
