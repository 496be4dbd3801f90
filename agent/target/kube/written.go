package kube

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"flotilla/agent/target"
	"flotilla/core/api"
)

// watchInventory writes a ConfigMap of the inventory again that somebody deleted or changed, and has its owner looked
// at, which does so too where that fails.
func (t *Target) watchInventory(ctx context.Context, failed func(string, error)) {
	factory := informers.NewSharedInformerFactoryWithOptions(t.clients, 0, informers.WithNamespace(SystemNamespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = labelInventory + "=true" }))
	informer := factory.Core().V1().ConfigMaps().Informer()
	_ = informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) { failed("configmaps", err) })
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			written, _ := before.(*corev1.ConfigMap)
			if found, is := after.(*corev1.ConfigMap); is && written != nil && !t.inventory.stands(found) {
				t.restore(ctx, written.Data[keyOwner])
			}
		},
		DeleteFunc: func(o any) {
			if last, gone := o.(cache.DeletedFinalStateUnknown); gone {
				o = last.Obj
			}
			if written, is := o.(*corev1.ConfigMap); is {
				t.restore(ctx, written.Data[keyOwner])
			}
		},
	}) // else it has stopped
	t.run(informer.RunWithContext)
}

func (t *Target) restore(ctx context.Context, owner string) {
	known := t.inventory.lose(owner)
	if known == nil {
		return
	}
	t.run(func(context.Context) {
		known.writing.Lock()
		defer known.writing.Unlock()
		_ = t.inventory.mend(ctx, owner, known) // else its owner does
		t.changes.tell(target.Change{Owners: []string{owner}})
	})
}

// stands says that a ConfigMap is as it was written, or was not written by this agent.
func (i *inventory) stands(found *corev1.ConfigMap) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	for owner, known := range i.owners {
		if mapName(owner) == found.Name && len(known.refs) > 0 {
			return found.Data[keyOwner] == owner && found.Data[keyObjects] == writeRefs(known.refs)
		}
	}
	return true
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
