package front

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"flotilla/hub/front/forms"
	"flotilla/hub/front/selected"
	"flotilla/hub/front/shelf"
	"flotilla/hub/front/turns"
)

// inDoor begins the key of where a list goes on that comes from the door; no namespace has a colon.
const inDoor = "door:"

// listWide is a page of objects that are too large together to be kept.
func (s *storage) listWide(ctx context.Context, kept *shelf.Shelf, o *metainternalversion.ListOptions, after string) (runtime.Object, error) {
	from, is := strings.CutPrefix(after, inDoor)
	if !is && after != "" {
		return nil, apierrors.NewResourceExpired("the list that the page before is of has ended: list again")
	}
	selector, limit := "", 0
	if o != nil && o.Limit > 0 {
		limit = int(o.Limit)
	}
	if o != nil && o.LabelSelector != nil && !s.kind.ours { // members are selected there by the labels that they state, too
		selector = o.LabelSelector.String()
	}
	if err := turns.Hold(ctx, turns.Answered, s.front.Bounds.List); err != nil {
		return nil, err
	}
	found, next, number, err := kept.Page(ctx, s.namespace(ctx), selector, from, limit, selected.By(o))
	switch {
	case errors.Is(err, shelf.ErrWide):
		return nil, s.tooWide("come in one answer: list them in pages, with limit=500")
	case err != nil:
		return nil, s.kind.translated(err, "")
	}
	list, err := s.filled(forms.Of(ctx), found, number)
	if err != nil {
		return nil, err
	}
	if next != "" {
		list.SetContinue(selected.Token(inDoor + next))
	}
	return list, nil
}

// tooWide says that the objects of the kind are too large together for something.
func (s *storage) tooWide(what string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusRequestEntityTooLarge, Reason: metav1.StatusReasonRequestEntityTooLarge,
		Message: fmt.Sprintf("all %s together take more memory than this hub keeps objects in, and cannot %s", s.kind.resource, what),
	}}
}
