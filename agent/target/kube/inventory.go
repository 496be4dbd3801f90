package kube

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	acorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"flotilla/core/api"
	"flotilla/core/apply"
)

const (
	// labelInventory marks the ConfigMaps of the inventory.
	labelInventory = "flotilla.io/inventory"
	// Keys of such a ConfigMap: the owner, and a line for each object, "apiVersion kind namespace name".
	keyOwner, keyObjects = "owner", "objects"
)

// inventory says, on the member, which objects an owner may have there: one ConfigMap an owner, written before
// anything that is in it. An agent that lost its disk reads it and forgets nothing. No lock but that of one owner, or
// of who reads for the first time, is held while the API server is asked.
type inventory struct {
	client typedcorev1.CoreV1Interface

	loading sync.Mutex

	mu     sync.Mutex
	read   bool
	owners map[string]*entry
	made   bool // the namespace is there
}

// entry is the inventory of one owner.
type entry struct {
	writing sync.Mutex

	refs []api.ObjectRef
	// lost says that the ConfigMap is not as it was written.
	lost bool
}

func newInventory(client typedcorev1.CoreV1Interface) *inventory {
	return &inventory{client: client, owners: map[string]*entry{}}
}

// load reads what an earlier process left, once.
func (i *inventory) load(ctx context.Context) error {
	i.loading.Lock()
	defer i.loading.Unlock()
	i.mu.Lock()
	read := i.read
	i.mu.Unlock()
	if read {
		return nil
	}
	list, err := i.client.ConfigMaps(SystemNamespace).List(ctx, metav1.ListOptions{LabelSelector: labelInventory + "=true"})
	if err != nil {
		return fmt.Errorf("reading the inventory: %w", err)
	}
	owners := map[string]*entry{}
	for n := range list.Items {
		data := list.Items[n].Data
		refs, err := readRefs(data[keyObjects])
		if err != nil {
			return fmt.Errorf("the inventory of %s, ConfigMap %s/%s: %w", data[keyOwner], SystemNamespace, list.Items[n].Name, err)
		}
		owners[data[keyOwner]] = &entry{refs: refs}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.owners, i.read = owners, true
	return nil
}

func (i *inventory) names(ctx context.Context) ([]string, error) {
	if err := i.load(ctx); err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	var names []string
	for _, owner := range slices.Sorted(maps.Keys(i.owners)) {
		if len(i.owners[owner].refs) > 0 {
			names = append(names, owner)
		}
	}
	return names, nil
}

func (i *inventory) of(ctx context.Context, owner string) ([]api.ObjectRef, error) {
	if err := i.load(ctx); err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if known := i.owners[owner]; known != nil {
		return known.refs, nil
	}
	return nil, nil
}

// put makes the inventory of an owner list refs; without any it is removed.
func (i *inventory) put(ctx context.Context, owner string, refs []api.ObjectRef) error {
	if err := i.load(ctx); err != nil {
		return err
	}
	refs = slices.Compact(slices.SortedFunc(slices.Values(refs), apply.CompareRefs))
	known := i.entry(owner)
	known.writing.Lock()
	defer known.writing.Unlock()
	i.mu.Lock()
	known.lost = known.lost || !slices.Equal(known.refs, refs)
	known.refs = refs // from here on a ConfigMap that lists others is not what it should be
	i.mu.Unlock()
	return i.mend(ctx, owner, known)
}

// mend writes the ConfigMap of an owner if it is not as it should be. The entry is held for writing.
func (i *inventory) mend(ctx context.Context, owner string, known *entry) error {
	i.mu.Lock()
	refs, lost := known.refs, known.lost
	i.mu.Unlock()
	if lost {
		if err := i.write(ctx, owner, refs); err != nil {
			return err
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if known.lost = false; len(refs) == 0 {
		delete(i.owners, owner)
	}
	return nil
}

func (i *inventory) entry(owner string) *entry {
	i.mu.Lock()
	defer i.mu.Unlock()
	known := i.owners[owner]
	if known == nil {
		known = &entry{}
		i.owners[owner] = known
	}
	return known
}

// lose notes that the ConfigMap of an owner is not as it was written; nil when it is not to be there.
func (i *inventory) lose(owner string) *entry {
	i.mu.Lock()
	defer i.mu.Unlock()
	known := i.owners[owner]
	if known == nil || len(known.refs) == 0 {
		return nil
	}
	known.lost = true
	return known
}

func (i *inventory) write(ctx context.Context, owner string, refs []api.ObjectRef) error {
	if len(refs) == 0 {
		err := i.client.ConfigMaps(SystemNamespace).Delete(ctx, mapName(owner), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("removing the inventory of %s: %w", owner, err)
		}
		return nil
	}
	if err := i.namespace(ctx); err != nil {
		return fmt.Errorf("writing the inventory of %s: %w", owner, err)
	}
	content := acorev1.ConfigMap(mapName(owner), SystemNamespace).
		WithLabels(map[string]string{labelInventory: "true"}).
		WithData(map[string]string{keyOwner: owner, keyObjects: writeRefs(refs)})
	_, err := i.client.ConfigMaps(SystemNamespace).Apply(ctx, content, metav1.ApplyOptions{FieldManager: apply.FieldManager, Force: true})
	if err != nil {
		i.has(false) // somebody may have deleted it
		return fmt.Errorf("writing the inventory of %s: %w", owner, err)
	}
	return nil
}

func (i *inventory) has(namespace bool) (before bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	before, i.made = i.made, namespace
	return before
}

// namespace makes the namespace of the inventory where it is missing.
func (i *inventory) namespace(ctx context.Context) error {
	if i.has(true) {
		return nil
	}
	err := makeSystemNamespace(ctx, i.client)
	if err != nil {
		i.has(false)
	}
	return err
}

// makeSystemNamespace makes SystemNamespace where it is missing; an agent that may not make namespaces finds it.
func makeSystemNamespace(ctx context.Context, client typedcorev1.NamespacesGetter) error {
	_, err := client.Namespaces().Get(ctx, SystemNamespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = client.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: SystemNamespace}},
			metav1.CreateOptions{FieldManager: apply.FieldManager})
	}
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
