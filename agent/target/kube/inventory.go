package kube

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
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
// anything that is in it. An agent that lost its disk reads it and forgets nothing.
type inventory struct {
	client typedcorev1.CoreV1Interface

	mu     sync.Mutex
	read   bool
	owners map[string][]api.ObjectRef
	made   bool // the namespace is there
}

func newInventory(client typedcorev1.CoreV1Interface) *inventory {
	return &inventory{client: client, owners: map[string][]api.ObjectRef{}}
}

// load reads what an earlier process left, once.
func (i *inventory) load(ctx context.Context) error {
	if i.read {
		return nil
	}
	list, err := i.client.ConfigMaps(SystemNamespace).List(ctx, metav1.ListOptions{LabelSelector: labelInventory + "=true"})
	if err != nil {
		return fmt.Errorf("reading the inventory: %w", err)
	}
	for n := range list.Items {
		data := list.Items[n].Data
		refs, err := readRefs(data[keyObjects])
		if err != nil {
			return fmt.Errorf("the inventory of %s, ConfigMap %s/%s: %w", data[keyOwner], SystemNamespace, list.Items[n].Name, err)
		}
		i.owners[data[keyOwner]] = refs
	}
	i.read = true
	return nil
}

func (i *inventory) names(ctx context.Context) ([]string, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.load(ctx); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(i.owners)), nil
}

func (i *inventory) of(ctx context.Context, owner string) ([]api.ObjectRef, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.load(ctx); err != nil {
		return nil, err
	}
	return i.owners[owner], nil
}

// put makes the inventory of an owner list refs; without any it is removed.
func (i *inventory) put(ctx context.Context, owner string, refs []api.ObjectRef) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.load(ctx); err != nil {
		return err
	}
	refs = slices.SortedFunc(slices.Values(refs), apply.CompareRefs)
	refs = slices.Compact(refs)
	known, listed := i.owners[owner]
	if slices.Equal(known, refs) && listed == (len(refs) > 0) {
		return nil
	}
	if len(refs) == 0 {
		err := i.client.ConfigMaps(SystemNamespace).Delete(ctx, mapName(owner), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("removing the inventory of %s: %w", owner, err)
		}
		delete(i.owners, owner)
		return nil
	}
	if err := i.write(ctx, owner, refs); err != nil {
		return fmt.Errorf("writing the inventory of %s: %w", owner, err)
	}
	i.owners[owner] = refs
	return nil
}

func (i *inventory) write(ctx context.Context, owner string, refs []api.ObjectRef) error {
	if err := i.namespace(ctx); err != nil {
		return err
	}
	content := acorev1.ConfigMap(mapName(owner), SystemNamespace).
		WithLabels(map[string]string{labelInventory: "true"}).
		WithData(map[string]string{keyOwner: owner, keyObjects: writeRefs(refs)})
	_, err := i.client.ConfigMaps(SystemNamespace).Apply(ctx, content, metav1.ApplyOptions{FieldManager: FieldManager, Force: true})
	if apierrors.IsNotFound(err) {
		i.made = false // somebody deleted it
	}
	return err
}

// namespace makes the namespace of the inventory where it is missing.
func (i *inventory) namespace(ctx context.Context) error {
	if i.made {
		return nil
	}
	_, err := i.client.Namespaces().Get(ctx, SystemNamespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = i.client.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: SystemNamespace}},
			metav1.CreateOptions{FieldManager: FieldManager})
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	i.made = true
	return nil
}

// mapName is the name of the ConfigMap of an owner.
func mapName(owner string) string {
	sum := sha256.Sum256([]byte(owner))
	return "placement-" + hex.EncodeToString(sum[:10])
}

func writeRefs(refs []api.ObjectRef) string {
	var b strings.Builder
	for _, ref := range refs {
		fmt.Fprintf(&b, "%s %s %s %s\n", ref.APIVersion, ref.Kind, dash(ref.Namespace), ref.Name)
	}
	return b.String()
}

func readRefs(text string) ([]api.ObjectRef, error) {
	var refs []api.ObjectRef
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) != 4 {
			return nil, fmt.Errorf("found %q, expected APIVERSION KIND NAMESPACE NAME; delete what it names by hand, then the ConfigMap", line)
		}
		refs = append(refs, api.ObjectRef{APIVersion: words[0], Kind: words[1], Namespace: strings.TrimPrefix(words[2], "-"), Name: words[3]})
	}
	return refs, nil
}

// dash stands for no namespace.
func dash(namespace string) string {
	if namespace == "" {
		return "-"
	}
	return namespace
}
