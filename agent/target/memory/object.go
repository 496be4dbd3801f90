package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"flotilla/agent/target"
	"flotilla/agent/target/memory/fields"
	"flotilla/agent/target/memory/podspec"
	"flotilla/core/api"
	"flotilla/core/apply"
)

// stored is one live object. Its status is made when it is read. As JSON it is what is kept of it.
type stored struct {
	Object *unstructured.Unstructured `json:"object"`
	Number int64                      `json:"number"` // order of creation
	// Changed is when anything but metadata last changed.
	Changed time.Time `json:"changed"`

	// Of a workload: its pods, those that end included; what they are made from, as read from
	// parsedFrom; and the turn of a pod whose successor is about to be made.
	Pods       []*pod `json:"pods,omitempty"`
	parsed     *podspec.Template
	parsedFrom *unstructured.Unstructured
	vacant     *turn

	// shown is the object as its own type, as it was last read from shownFrom.
	shown     any
	shownFrom *unstructured.Unstructured
}

// kind is "Deployment.apps", without a group "Service".
func (s *stored) kind() string { return s.Object.GroupVersionKind().GroupKind().String() }

func (s *stored) id() apply.Identity { return apply.IdentityOf(apply.RefOf(s.Object)) }

func byNumber(a, b *stored) int { return cmp.Compare(a.Number, b.Number) }

func (s *stored) owner() string { return s.Object.GetAnnotations()[api.AnnotationOwner] }

// Owners lists the owners that have objects here.
func (m *Member) Owners(context.Context) ([]string, error) {
	m.mu.Lock()
	defer m.unlock()
	if err := m.down(); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(m.owners)), nil
}

// Intend does nothing: who owns an object is written on it, and the member lists them by that.
func (m *Member) Intend(context.Context, string, []api.ObjectRef) error {
	m.mu.Lock()
	defer m.unlock()
	return m.down()
}

// Follow remembers the newest order. A member that is opened again knows of none.
func (m *Member) Follow(_ context.Context, order api.Order) (newest api.Order, err error) {
	m.mu.Lock()
	defer m.unlock()
	if err := m.down(); err != nil {
		return api.Order{}, err
	}
	if order.Compare(m.followed) > 0 {
		m.followed = order
	}
	return m.followed, nil
}

// Owned lists the objects of one owner, in order of creation.
func (m *Member) Owned(_ context.Context, owner string) ([]*unstructured.Unstructured, error) {
	m.mu.Lock()
	defer m.unlock()
	if err := m.down(); err != nil {
		return nil, err
	}
	found := slices.SortedFunc(maps.Values(m.owners[owner]), byNumber)
	out := make([]*unstructured.Unstructured, len(found))
	for i, s := range found {
		out[i] = m.read(s)
	}
	return out, nil
}

// Get reads one object.
func (m *Member) Get(_ context.Context, ref api.ObjectRef) (*unstructured.Unstructured, error) {
	m.mu.Lock()
	defer m.unlock()
	if err := m.down(); err != nil {
		return nil, err
	}
	s := m.objects[apply.IdentityOf(ref)]
	if s == nil {
		return nil, notFound(ref)
	}
	return m.read(s), nil
}

// Find reads those of some objects that are there.
func (m *Member) Find(_ context.Context, refs []api.ObjectRef) ([]*unstructured.Unstructured, error) {
	m.mu.Lock()
	defer m.unlock()
	if err := m.down(); err != nil {
		return nil, err
	}
	var found []*unstructured.Unstructured
	for _, ref := range refs {
		if s := m.objects[apply.IdentityOf(ref)]; s != nil {
			found = append(found, m.read(s))
		}
	}
	return found, nil
}

// Apply creates or replaces one object.
func (m *Member) Apply(ctx context.Context, w target.Write) (*unstructured.Unstructured, error) {
	ref := apply.RefOf(w.Object)
	if err := m.hinder(ctx, ref); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.unlock()
	s := m.objects[apply.IdentityOf(ref)]
	object, err := m.resulting(w, ref, s)
	if err != nil {
		return nil, err
	}
	verb := apply.Replace
	switch {
	case s == nil:
		verb = apply.Create
		s = m.store(object)
	case w.Disown:
		verb = apply.Disown
		m.replace(s, object)
	default:
		m.replace(s, object)
	}
	m.record(verb, s.Object, ref, w.Origin)
	return m.read(s), nil
}

// resulting is what a write makes of a live object, nil when there is none.
func (m *Member) resulting(w target.Write, ref api.ObjectRef, live *stored) (*unstructured.Unstructured, error) {
	if err := m.admit(w, ref, live); err != nil {
		return nil, err
	}
	w.Object = encoded(w.Object)
	if live == nil {
		return w.Object, nil
	}
	return fields.Merge(w, live.Object, m.clock.Now())
}

// Preview is what a forced Apply would return.
func (m *Member) Preview(_ context.Context, w target.Write) (*unstructured.Unstructured, error) {
	m.mu.Lock()
	defer m.unlock()
	if err := m.down(); err != nil {
		return nil, err
	}
	ref := apply.RefOf(w.Object)
	s := m.objects[apply.IdentityOf(ref)]
	w.Force = true
	object, err := m.resulting(w, ref, s)
	if err != nil || s == nil {
		return object, err
	}
	made := *s
	made.Object = object.DeepCopy()
	kept(made.Object, s.Object)
	return m.read(&made), nil
}

// admit refuses what an API server would.
func (m *Member) admit(w target.Write, ref api.ObjectRef, live *stored) error {
	switch {
	case ref.Name == "" || ref.Kind == "" || ref.APIVersion == "":
		return apierrors.NewBadRequest(fmt.Sprintf("object %q needs apiVersion, kind and metadata.name", ref))
	case live == nil && w.UID != "":
		return notFound(ref)
	case live != nil:
		return expected(w, ref, live.Object)
	case ref.Namespace == "":
		return nil
	}
	if _, ok := m.objects[apply.Identity{Kind: "Namespace", Name: ref.Namespace}]; !ok {
		return notFound(api.ObjectRef{APIVersion: "v1", Kind: "Namespace", Name: ref.Namespace})
	}
	return nil
}

// expected refuses a live object that is not the one that a write expects.
func expected(w target.Write, ref api.ObjectRef, live *unstructured.Unstructured) error {
	uid, version := string(live.GetUID()), live.GetResourceVersion()
	switch {
	case w.UID == "" && w.Exclusive:
		return apierrors.NewAlreadyExists(target.GroupResource(ref), ref.Name)
	case w.UID != "" && w.UID != uid:
		return apierrors.NewConflict(target.GroupResource(ref), ref.Name, fmt.Errorf("uid is %s, not %s", uid, w.UID))
	case w.Version != "" && w.Version != version:
		return apierrors.NewConflict(target.GroupResource(ref), ref.Name, fmt.Errorf("version is %s, not %s", version, w.Version))
	}
	return nil
}

// Delete removes one object.
func (m *Member) Delete(ctx context.Context, r target.Removal) error {
	if err := m.hinder(ctx, r.ObjectRef); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.unlock()
	s := m.objects[apply.IdentityOf(r.ObjectRef)]
	if s == nil {
		return nil
	}
	if uid := string(s.Object.GetUID()); uid != r.UID {
		return apierrors.NewConflict(target.GroupResource(r.ObjectRef), r.Name, fmt.Errorf("uid is %s, not %s", uid, r.UID))
	}
	if owner := s.owner(); r.Origin.Owner != "" && owner != r.Origin.Owner {
		return apierrors.NewConflict(target.GroupResource(r.ObjectRef), r.Name, fmt.Errorf("owner is %q, not %q", owner, r.Origin.Owner))
	}
	m.record(apply.Delete, s.Object, r.ObjectRef, r.Origin)
	m.remove(s)
	m.pass()
	return nil
}

// store makes a new object live.
func (m *Member) store(object *unstructured.Unstructured) *stored {
	m.counts.Born++
	s := &stored{Object: object.DeepCopy(), Number: m.counts.Born, Changed: m.clock.Now()}
	unstructured.RemoveNestedField(s.Object.Object, "status")
	s.Object.SetUID(types.UID(fmt.Sprintf("%s-%08d", m.name, m.counts.Born)))
	s.Object.SetCreationTimestamp(metav1.NewTime(s.Changed))
	s.Object.SetGeneration(1)
	m.objects[s.id()] = s
	m.index(s)
	m.settle(s, s.owner())
	return s
}

// replace changes what a live object says and keeps what it is.
func (m *Member) replace(s *stored, object *unstructured.Unstructured) {
	before, owner := s.Object, s.owner()
	m.unindex(s)
	s.Object = object.DeepCopy()
	kept(s.Object, before)
	if !sameContent(before, s.Object) {
		s.Object.SetGeneration(before.GetGeneration() + 1)
		s.Changed = m.clock.Now()
	}
	m.index(s)
	m.settle(s, owner)
}

// kept gives an object what no write changes.
func kept(object, before *unstructured.Unstructured) {
	unstructured.RemoveNestedField(object.Object, "status")
	object.SetUID(before.GetUID())
	object.SetCreationTimestamp(before.GetCreationTimestamp())
	object.SetGeneration(before.GetGeneration())
	object.SetResourceVersion(before.GetResourceVersion())
	keepAddress(object, before)
}

// settle gives a new or changed object what the member itself adds, and tells watchers.
func (m *Member) settle(s *stored, ownerBefore string) {
	m.counts.Writes++
	m.keep.changed(s)
	s.Object.SetResourceVersion(strconv.FormatInt(m.counts.Writes, 10))
	m.assignAddress(s)
	if s.workload() {
		m.reconcile(s)
		m.pass()
	} else if m.readyAfter > 0 && waits(s.Object) {
		m.tellSettled(s)
	}
	m.notify(target.Change{Owners: []string{ownerBefore, s.owner()}, Pods: s.kind() == kindBudget})
}

// tellSettled tells watchers when the controllers had the time to look at an object.
func (m *Member) tellSettled(s *stored) {
	m.after(m.readyAfter, func() { m.notify(target.Change{Owners: []string{s.owner()}}) })
}

// remove takes an object away, and with a namespace all that is in it.
func (m *Member) remove(s *stored) {
	m.release(s)
	m.unindex(s)
	delete(m.objects, s.id())
	m.keep.changed(s)
	m.notify(target.Change{Owners: []string{s.owner()}, Pods: s.kind() == kindBudget})
	if ref := apply.RefOf(s.Object); ref.Kind == "Namespace" && ref.APIVersion == "v1" {
		for _, inside := range m.sorted() {
			if inside.Object.GetNamespace() == ref.Name {
				m.remove(inside)
			}
		}
	}
}

func (m *Member) index(s *stored) {
	owner := s.owner()
	if owner == "" {
		return
	}
	if m.owners[owner] == nil {
		m.owners[owner] = map[apply.Identity]*stored{}
	}
	m.owners[owner][s.id()] = s
}

func (m *Member) unindex(s *stored) {
	owner := s.owner()
	delete(m.owners[owner], s.id())
	if len(m.owners[owner]) == 0 {
		delete(m.owners, owner)
	}
}

// sorted lists all objects in order of creation.
func (m *Member) sorted() []*stored {
	return slices.SortedFunc(maps.Values(m.objects), byNumber)
}

// read copies an object with its status.
func (m *Member) read(s *stored) *unstructured.Unstructured {
	out := s.Object.DeepCopy()
	if status := m.status(s); status != nil {
		out.Object["status"] = status
	}
	return out
}

// sameContent compares two objects but for metadata and status.
func sameContent(a, b *unstructured.Unstructured) bool {
	strip := func(o *unstructured.Unstructured) map[string]any {
		out := maps.Clone(o.Object)
		delete(out, "metadata")
		delete(out, "status")
		return out
	}
	return reflect.DeepEqual(strip(a), strip(b))
}

func notFound(ref api.ObjectRef) error {
	return apierrors.NewNotFound(target.GroupResource(ref), ref.Name)
}
