package front

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"

	"flotilla/core/api"
	"flotilla/hub/front/bounds"
	"flotilla/hub/front/extent"
	"flotilla/hub/front/forms"
	"flotilla/hub/front/selected"
	"flotilla/hub/front/shelf"
	"flotilla/hub/front/turns"
)

// tries bounds how often a change is decided again after the object changed under it.
const tries = 5

// storage answers the verbs of Kubernetes for one kind, by asking the door.
type storage struct {
	rest.TableConvertor
	front   *Front
	kind    *kind
	watched selected.Shared
}

var (
	_ rest.StandardStorage      = &storage{}
	_ rest.SingularNameProvider = &storage{}
)

// New is an empty object.
func (s *storage) New() runtime.Object {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(s.kind.GroupVersionKind)
	return u
}

// NewList is an empty list.
func (s *storage) NewList() runtime.Object {
	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(s.kind.GroupVersion().WithKind(s.kind.Kind + "List"))
	return l
}

// Destroy does nothing: shelves end with the front.
func (s *storage) Destroy() {}

// NamespaceScoped says whether objects lie in namespaces.
func (s *storage) NamespaceScoped() bool { return s.kind.namespaced }

// GetSingularName is the kind in small letters.
func (s *storage) GetSingularName() string { return s.kind.singular() }

func (s *storage) missing(name string) error {
	return apierrors.NewNotFound(s.kind.groupVersionResource().GroupResource(), name)
}

// namespace is the one that a request is about, empty for all. That of a Namespace is itself, and it lies in none.
func (s *storage) namespace(ctx context.Context) string {
	if !s.kind.namespaced {
		return ""
	}
	return genericrequest.NamespaceValue(ctx)
}

// shelf holds what whoever asks may see.
func (s *storage) shelf(ctx context.Context) *shelf.Shelf {
	return s.front.shelf(s.kind, callerOf(ctx).Role.Covers(api.RoleOperator))
}

// current is an object as it is now, nil where there is none.
func (s *storage) current(ctx context.Context, name string) (*shelf.Item, error) {
	found, err := s.shelf(ctx).One(ctx, s.namespace(ctx), name)
	if err != nil {
		return nil, s.kind.translated(err, name)
	}
	return found, nil
}

// held is an object as it is now, nil where there is none. There is room for it, and for the form of the answer, until the request has ended, and
// before it is decoded.
func (s *storage) held(ctx context.Context, name string) (*shelf.Item, error) {
	found, err := turns.WithRoom(ctx, turns.Answered, func() (*shelf.Item, int64, error) {
		found, err := s.current(ctx, name)
		if err != nil || found == nil {
			return nil, 0, err
		}
		form := forms.Of(ctx)
		return found, found.Weight() + form.Takes(found.Extent, found.Extent), form.Fit(found.Extent)
	})
	if err != nil || found == nil {
		return nil, err
	}
	return found.Whole(), nil
}

// Get is one object.
func (s *storage) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	found, err := s.held(ctx, name)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, s.missing(name)
	}
	return found.Object.DeepCopy(), nil
}

// List is a page of the objects that selectors choose. There is room for them until they were taken, and before they are decoded.
func (s *storage) List(ctx context.Context, o *metainternalversion.ListOptions) (runtime.Object, error) {
	if s.kind.Kind == "Pod" {
		warning.AddWarning(ctx, "", podsRun)
	}
	after, err := selected.After(o)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	kept, p := s.shelf(ctx), s.paging(ctx, o)
	var number uint64
	found, err := turns.WithRoom(ctx, turns.Answered, func() (found []*shelf.Item, takes int64, err error) {
		if found, number, err = kept.Kept(ctx, s.namespace(ctx)); err != nil {
			return nil, 0, err
		}
		found = p.candidates(found, after)
		return found, p.needs(found), nil
	})
	switch {
	case errors.Is(err, shelf.ErrWide):
		turns.Free(ctx, turns.Answered)
		return s.listWide(ctx, kept, o, after)
	case err != nil:
		return nil, s.kind.translated(err, "")
	case strings.HasPrefix(after, inDoor):
		return nil, apierrors.NewResourceExpired("the list that the page before is of has ended: list again")
	}
	return s.listed(p, found, number)
}

// listed is the list of a page of objects that are kept.
func (s *storage) listed(p *paging, found []*shelf.Item, number uint64) (runtime.Object, error) {
	page, left, fits := p.page(found)
	if !fits {
		return nil, s.tooWide("come in one answer: list them in pages, with limit=500")
	}
	list, err := s.filled(p.form, page, number)
	if err != nil {
		return nil, err
	}
	if left > 0 {
		list.SetContinue(selected.Token(page[len(page)-1].Key))
		if p.o.LabelSelector == nil || p.o.LabelSelector.Empty() {
			list.SetRemainingItemCount(&left)
		}
	}
	return list, nil
}

// filled is a list with a page of objects, which have to fit in its form.
func (s *storage) filled(form *forms.Form, page []*shelf.Item, number uint64) (*unstructured.UnstructuredList, error) {
	list := s.NewList().(*unstructured.UnstructuredList)
	list.SetResourceVersion(shelf.Printed(number))
	list.Items = make([]unstructured.Unstructured, len(page))
	var all extent.Extent
	for i, one := range page {
		list.Items[i] = *one.Object // whoever writes it changes nothing
		all = all.Plus(one.Extent)
	}
	return list, form.Fit(all)
}

// Watch tells of changes, from a version or from now on.
func (s *storage) Watch(ctx context.Context, o *metainternalversion.ListOptions) (watch.Interface, error) {
	kept := s.shelf(ctx)
	_, number, err := kept.Kept(ctx, "")
	switch {
	case errors.Is(err, shelf.ErrWide):
		return nil, s.tooWide("be watched: list them in pages, or get one by its name")
	case err != nil:
		return nil, s.kind.translated(err, "")
	}
	from, err := shelf.Asked(o.ResourceVersion)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	w := &watcher{
		form: forms.Of(ctx), namespace: s.namespace(ctx), shelf: kept, bookmarks: o.AllowWatchBookmarks, may: s.front.stands,
		results: make(chan watch.Event), flushed: bounds.Flushed(ctx),
	}
	at, all := shelf.Place{}, o.SendInitialEvents != nil && *o.SendInitialEvents
	switch {
	case all || from == 0:
		at.Number = number
		w.initial = all && o.AllowWatchBookmarks
	case from > number || !kept.Gave(from): // of another hub, or of records that are no more
		return nil, apierrors.FromObject(expired(from))
	default:
		at = shelf.Place{Number: from, All: true}
	}
	end, err := turns.Stay(ctx)
	if err != nil {
		return nil, err
	}
	ctx, w.stop = context.WithCancel(ctx)
	attended := kept.Attend()
	selector, unselect := s.watched.Enter(o)
	w.selector = selector
	leave := func() {
		unselect()
		attended()
	}
	begins := s.front.all.Go(func() {
		defer end()
		defer leave()
		defer kept.AfterEnd(w.stop)()
		w.run(ctx, at)
	})
	if !begins {
		leave()
		end()
		w.stop()
		return nil, apierrors.NewServiceUnavailable("this hub ends: ask again")
	}
	return w, nil
}

// Create makes an object.
func (s *storage) Create(ctx context.Context, o runtime.Object, judge rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	leave, err := turns.Stay(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	u := o.(*unstructured.Unstructured)
	encodeWords(u)
	if u.GetName() == "" && u.GetGenerateName() != "" {
		u.SetName(u.GetGenerateName() + strings.ToLower(rand.Text()[:5]))
		u.SetGenerateName("") // members could not tell generated names apart
	}
	if judge != nil {
		if err := judge(ctx, u.DeepCopy()); err != nil {
			return nil, err
		}
	}
	made, err := s.apply(ctx, u, &api.ApplyRequest{Create: true, DryRun: dry(options.DryRun)})
	if failedWith(err, api.CodeConflict) {
		return nil, apierrors.NewAlreadyExists(s.kind.groupVersionResource().GroupResource(), u.GetName())
	}
	if err != nil {
		return nil, s.kind.translated(err, u.GetName())
	}
	return made, nil
}

func dry(run []string) bool { return len(run) > 0 }

// Update changes an object, or makes it where that is allowed.
func (s *storage) Update(
	ctx context.Context, name string, info rest.UpdatedObjectInfo, may rest.ValidateObjectFunc, judge rest.ValidateObjectUpdateFunc, make bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	leave, err := turns.Stay(ctx)
	if err != nil {
		return nil, false, err
	}
	defer leave()
	for try := 1; ; try++ {
		turns.Free(ctx, turns.Answered) // of the try before
		now, err := s.held(ctx, name)
		if err != nil {
			return nil, false, err
		}
		if now == nil {
			return s.createByUpdate(ctx, name, info, may, make, options)
		}
		changed, err := s.changed(ctx, now, info)
		if err != nil {
			return nil, false, err
		}
		if judge != nil {
			if err := judge(ctx, changed.DeepCopy(), now.Object.DeepCopy()); err != nil {
				return nil, false, err
			}
		}
		if sameBut(changed, now.Object) {
			return now.Object.DeepCopy(), false, nil
		}
		made, err := s.apply(ctx, changed, &api.ApplyRequest{
			Exact: true, DryRun: dry(options.DryRun), Expect: []api.Expected{{UID: string(now.Object.GetUID()), ResourceVersion: now.Spec}},
		})
		switch {
		case err == nil:
			return made, false, nil
		case !raced(err):
			return nil, false, s.kind.translated(err, name)
		case try == tries: // a change that names the version it was made from does not come here
			return nil, false, s.conflict(name)
		}
	}
}

func (s *storage) conflict(name string) error {
	return apierrors.NewConflict(s.kind.groupVersionResource().GroupResource(), name,
		fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
}

// changed is an object as who asks wants it.
func (s *storage) changed(ctx context.Context, now *shelf.Item, info rest.UpdatedObjectInfo) (*unstructured.Unstructured, error) {
	name := now.Object.GetName()
	if p := info.Preconditions(); p != nil && !meets(p, now.Object) {
		return nil, s.conflict(name)
	}
	if err := bounds.Mergeable(ctx, now.Object.Object); err != nil {
		return nil, err
	}
	wanted, err := info.UpdatedObject(ctx, now.Object.DeepCopy())
	if err != nil {
		return nil, err
	}
	u := wanted.(*unstructured.Unstructured)
	encodeWords(u)
	version := u.GetResourceVersion()
	if version != "" && version != now.Object.GetResourceVersion() {
		return nil, s.conflict(name)
	}
	if uid := u.GetUID(); uid != "" && uid != now.Object.GetUID() {
		return nil, s.conflict(name)
	}
	keepServerSet(u, now.Object)
	return u, nil
}

// meets says that an object is what preconditions ask for.
func meets(p *metav1.Preconditions, u *unstructured.Unstructured) bool {
	return (p.UID == nil || *p.UID == u.GetUID()) && (p.ResourceVersion == nil || *p.ResourceVersion == u.GetResourceVersion())
}

// raced says that an object changed between the look at it and its change.
func raced(err error) bool {
	return failedWith(err, api.CodePrecondition) || failedWith(err, api.CodeConflict)
}

// keepServerSet has an object keep what no client sets.
func keepServerSet(u, now *unstructured.Unstructured) {
	u.SetUID(now.GetUID())
	u.SetGeneration(now.GetGeneration())
	u.SetCreationTimestamp(now.GetCreationTimestamp())
	u.SetDeletionTimestamp(now.GetDeletionTimestamp())
	u.SetResourceVersion(now.GetResourceVersion())
	if status, has := now.Object["status"]; has {
		u.Object["status"] = runtime.DeepCopyJSONValue(status)
	} else {
		delete(u.Object, "status")
	}
}

// sameBut says that nothing changed but when a manager last did.
func sameBut(a, b *unstructured.Unstructured) bool {
	a, b = a.DeepCopy(), b.DeepCopy()
	for _, u := range []*unstructured.Unstructured{a, b} {
		managers := u.GetManagedFields()
		for i := range managers {
			managers[i].Time = nil
		}
		u.SetManagedFields(managers)
	}
	return equality.Semantic.DeepEqual(a.Object, b.Object)
}

func (s *storage) createByUpdate(
	ctx context.Context, name string, info rest.UpdatedObjectInfo, may rest.ValidateObjectFunc, make bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	if p := info.Preconditions(); !make || p != nil && p.UID != nil {
		return nil, false, s.missing(name)
	}
	wanted, err := info.UpdatedObject(ctx, s.New())
	if err != nil {
		return nil, false, err
	}
	wanted.(*unstructured.Unstructured).SetName(name)
	made, err := s.Create(ctx, wanted, may, &metav1.CreateOptions{DryRun: options.DryRun})
	return made, err == nil, err
}

// apply has the door store an object, and returns it as it then is.
func (s *storage) apply(ctx context.Context, u *unstructured.Unstructured, request *api.ApplyRequest) (*unstructured.Unstructured, error) {
	document := u.DeepCopy()
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "selfLink"} {
		unstructured.RemoveNestedField(document.Object, "metadata", field)
	}
	delete(document.Object, "status")
	text, err := json.Marshal(document.Object)
	if err != nil {
		return nil, err
	}
	if err := s.answerable(ctx, text); err != nil {
		return nil, err
	}
	request.Documents, request.Managed, request.Show, request.Request = []json.RawMessage{text}, true, request.DryRun, rand.Text()
	var answer api.ApplyResponse
	if err := s.front.Door.Ask(ctx, callerOf(ctx), api.VerbApply, request, &answer); err != nil {
		return nil, err
	}
	if len(answer.Results) != 1 {
		return nil, fmt.Errorf("the door answered of %d objects, asked for one", len(answer.Results))
	}
	result := &answer.Results[0]
	for _, note := range append(answer.Notes, result.Notes...) {
		warning.AddWarning(ctx, "", note)
	}
	if request.DryRun {
		return s.shown(u, result)
	}
	now, err := s.current(ctx, u.GetName())
	if err != nil {
		return nil, err
	}
	if now == nil || string(now.UID) != result.UID { // gone again already
		return u, nil
	}
	return now.Whole().Object.DeepCopy(), nil // what was sent has as much room
}

// answerable says that what is to be stored fits in the form of the answer, and that there is room for that. In JSON it takes no more than what was
// sent.
func (s *storage) answerable(ctx context.Context, text []byte) error {
	form, sent := forms.Of(ctx), extent.Of(text)
	if err := form.Fit(sent); err != nil || form.Usual() {
		return err
	}
	return turns.Hold(ctx, turns.Answered, form.Takes(sent, sent))
}

// secretive are the kinds that hold values which the door shows digests of in a dry run: they are answered as they were sent.
var secretive = map[string]bool{
	"Secret": true, api.KindResourceEnvelope: true, api.KindClusterResourceEnvelope: true, api.KindClusterResourceOverride: true, api.KindResourceOverride: true,
}

// shown is an object as a dry run would store it.
func (s *storage) shown(u *unstructured.Unstructured, result *api.ApplyResult) (*unstructured.Unstructured, error) {
	if len(result.Body) == 0 || secretive[s.kind.Kind] {
		sent := u.DeepCopy() // without what clients keep, as the others
		unstructured.RemoveNestedField(sent.Object, "metadata", "annotations", corev1.LastAppliedConfigAnnotation)
		return sent, nil
	}
	out := &unstructured.Unstructured{}
	if err := json.Unmarshal(result.Body, &out.Object); err != nil {
		return nil, err
	}
	out.SetGroupVersionKind(s.kind.GroupVersionKind)
	keepServerSet(out, u)
	out.SetGeneration(result.Generation)
	out.SetManagedFields(u.GetManagedFields())
	return out, nil
}

// Delete has an object deleted, at once or once members confirmed it.
func (s *storage) Delete(ctx context.Context, name string, judge rest.ValidateObjectFunc, o *metav1.DeleteOptions) (runtime.Object, bool, error) {
	leave, err := turns.Stay(ctx)
	if err != nil {
		return nil, false, err
	}
	defer leave()
	now, err := s.held(ctx, name)
	if err != nil {
		return nil, false, err
	}
	if now == nil {
		return nil, false, s.missing(name)
	}
	if judge != nil {
		if err := judge(ctx, now.Object.DeepCopy()); err != nil {
			return nil, false, err
		}
	}
	request := &api.DeleteRequest{Request: rand.Text(), Object: s.ref(now.Object), UID: string(now.Object.GetUID()), DryRun: dry(o.DryRun)}
	if p := o.Preconditions; p != nil {
		if !meets(p, now.Object) {
			return nil, false, s.conflict(name)
		}
		if p.ResourceVersion != nil {
			request.ResourceVersion = now.Spec
		}
	}
	var result api.ApplyResult
	if err := s.front.Door.Ask(ctx, callerOf(ctx), api.VerbDelete, request, &result); err != nil {
		if raced(err) {
			return nil, false, s.conflict(name)
		}
		return nil, false, s.kind.translated(err, name)
	}
	for _, note := range result.Notes {
		warning.AddWarning(ctx, "", note)
	}
	if result.Action != api.ActionDeleting || request.DryRun {
		return now.Object.DeepCopy(), true, nil
	}
	after, err := s.current(ctx, name)
	if err != nil || after == nil {
		return now.Object.DeepCopy(), true, err
	}
	return after.Whole().Object.DeepCopy(), false, nil
}

func (s *storage) ref(u *unstructured.Unstructured) api.ObjectRef {
	return api.ObjectRef{APIVersion: s.kind.GroupVersion().String(), Kind: s.kind.Kind, Namespace: u.GetNamespace(), Name: u.GetName()}
}

// DeleteCollection has all objects deleted that selectors choose, one after the other.
func (s *storage) DeleteCollection(
	ctx context.Context, judge rest.ValidateObjectFunc, o *metav1.DeleteOptions, which *metainternalversion.ListOptions,
) (runtime.Object, error) {
	leave, err := turns.Stay(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	found, err := s.List(ctx, which)
	if err != nil {
		return nil, err
	}
	list := found.(*unstructured.UnstructuredList)
	for i := range list.Items {
		if _, _, err := s.Delete(ctx, list.Items[i].GetName(), judge, o.DeepCopy()); err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
	}
	return list, nil
}
