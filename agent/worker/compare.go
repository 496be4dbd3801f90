package worker

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/agent/target"
	"flotilla/core/api"
	"flotilla/core/apply"
)

// previews remember what the member said it would make of objects that seem to differ, so that it is asked once
// for each state of an object.
type previews struct {
	mu   sync.Mutex
	seen map[string]map[apply.Identity]preview // by placement
}

type preview struct {
	of      [sha256.Size]byte // manifest and live object
	object  *unstructured.Unstructured
	refused string
}

func (p *previews) forget(placement string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.seen, placement)
}

// compare plans, and where objects seem to differ asks the member whether they do: what its API server adds or
// writes otherwise is none.
func (w *Worker) compare(ctx context.Context, wanted apply.Wanted, live []*unstructured.Unstructured, from target.Origin) (apply.Plan, error) {
	plan := apply.Diff(wanted, live)
	if len(plan.Suspects) == 0 {
		w.previews.forget(wanted.Owner.Placement)
		return plan, nil
	}
	suspected := make(map[apply.Identity]bool, len(plan.Suspects))
	for _, ref := range plan.Suspects {
		suspected[apply.IdentityOf(ref)] = true
	}
	found := make(map[apply.Identity]*unstructured.Unstructured, len(suspected))
	for _, object := range live {
		found[apply.IdentityOf(apply.RefOf(object))] = object
	}
	known := w.previews.of(wanted.Owner.Placement)
	next := make(map[apply.Identity]preview, len(suspected))
	for i := range wanted.Manifests {
		m := &wanted.Manifests[i]
		id := apply.IdentityOf(m.ObjectRef)
		if _, done := next[id]; done || !suspected[id] {
			continue
		}
		made, err := w.preview(ctx, m, wanted.Owner, found[id], known[id], from)
		if err != nil {
			return apply.Plan{}, err
		}
		next[id] = made
	}
	w.previews.keep(wanted.Owner.Placement, next)
	wanted.Previews, wanted.Refused = map[apply.Identity]*unstructured.Unstructured{}, map[apply.Identity]string{}
	for id, made := range next {
		if wanted.Refused[id] = made.refused; made.object != nil {
			wanted.Previews[id] = made.object
		}
	}
	return apply.Diff(wanted, live), nil
}

// preview asks the member, unless it was asked the same before.
func (w *Worker) preview(
	ctx context.Context, m *apply.Manifest, owner apply.Owner, live *unstructured.Unstructured, known preview, from target.Origin,
) (preview, error) {
	made := preview{of: fingerprint(m.Digest, live)}
	if made.of == known.of {
		return known, nil
	}
	object, err := w.o.Target.Preview(ctx, target.Write{Object: apply.Stamped(m, owner), UID: string(live.GetUID()), Force: true, Origin: from})
	switch {
	case err == nil && outrun(object, live):
		return preview{}, fmt.Errorf("comparing %s: it changed meanwhile", m.ObjectRef)
	case err == nil:
		made.object = object
	case away(err) || meanwhile(err) || apierrors.IsNotFound(err) || ctx.Err() != nil:
		return preview{}, fmt.Errorf("comparing %s: %w", m.ObjectRef, err)
	default:
		made.refused = complaint(m.ObjectRef, err)
	}
	return made, nil
}

// outrun says that the preview was made of a newer object than the one that it is to be compared with. The
// status of an object counts no generations.
func outrun(made, live *unstructured.Unstructured) bool {
	return made.GetResourceVersion() != live.GetResourceVersion() && (live.GetGeneration() == 0 || made.GetGeneration() != live.GetGeneration())
}

func (p *previews) of(placement string) map[apply.Identity]preview {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[placement]
}

func (p *previews) keep(placement string, made map[apply.Identity]preview) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen == nil {
		p.seen = map[string]map[apply.Identity]preview{}
	}
	p.seen[placement] = made
}

// fingerprint is of all that a preview depends on: not of the status, and of what counts writes.
func fingerprint(digest string, live *unstructured.Unstructured) [sha256.Size]byte {
	content := maps.Clone(live.Object)
	delete(content, "status")
	metadata, _ := content["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	for _, field := range []string{"resourceVersion", "managedFields"} {
		delete(metadata, field)
	}
	content["metadata"] = metadata
	body, err := json.Marshal([]any{digest, content})
	if err != nil {
		body = []byte(digest + live.GetResourceVersion())
	}
	return sha256.Sum256(body)
}

// complaint is what the member's API server says of a write: which fields others own, and of a Secret no more than
// where the fault is, since an error may quote values.
func complaint(ref api.ObjectRef, err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err.Error()
	}
	details := status.Status().Details
	if contests := apply.Contested(details); len(contests) > 0 {
		return apply.ContestText(contests)
	}
	if ref.Kind != "Secret" || status.Status().Reason != metav1.StatusReasonInvalid {
		return err.Error()
	}
	var fields []string
	if details != nil {
		for _, cause := range details.Causes {
			fields = append(fields, cause.Field)
		}
	}
	return fmt.Sprintf("the member's API server calls the Secret invalid at %s; its own words are left out, as they may quote values", strings.Join(fields, ", "))
}
