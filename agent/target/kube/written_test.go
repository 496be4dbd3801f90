package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"flotilla/agent/target"
	"flotilla/bus/bustest"
	"flotilla/core/api"
)

// inventoried is a target of which no more runs than its inventory.
func inventoried(t *testing.T) *Target {
	t.Helper()
	clients := fake.NewClientset()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	made := &Target{clients: clients, changes: &changes{}, inventory: newInventory(clients.CoreV1())}
	made.run = func(f func(context.Context)) { running.Go(func() { f(ctx) }) }
	made.watchInventory(ctx, func(string, error) {})
	bustest.Eventually(t, func() error {
		if !slices.ContainsFunc(clients.Actions(), func(a clienttesting.Action) bool { return a.GetVerb() == "watch" }) {
			return errors.New("it is not watched yet")
		}
		return nil
	})
	return made
}

// What somebody deletes of the inventory, or writes into it, is put right at once, and its owner is looked at; that of an
// owner without objects stays gone.
func TestAnInventoryIsPutRight(t *testing.T) {
	const owner = "web/u1"
	made := inventoried(t)
	maps := made.clients.CoreV1().ConfigMaps(SystemNamespace)
	refs := []api.ObjectRef{refTo("Secret"), refTo("ConfigMap")}
	require.NoError(t, made.Intend(t.Context(), owner, refs))
	stands := func() error {
		found, err := maps.Get(t.Context(), mapName(owner), metav1.GetOptions{})
		if err == nil && !made.inventory.stands(found) {
			err = fmt.Errorf("it says %q", found.Data)
		}
		return err
	}
	require.NoError(t, stands())
	told := made.Watch(t.Context())
	for _, damage := range []func() error{
		func() error { return maps.Delete(t.Context(), mapName(owner), metav1.DeleteOptions{}) },
		func() error {
			found, err := maps.Get(t.Context(), mapName(owner), metav1.GetOptions{})
			if err == nil {
				found.Data[keyObjects] = "v1 ConfigMap shop other\n"
				_, err = maps.Update(t.Context(), found, metav1.UpdateOptions{FieldManager: "kubectl-edit"})
			}
			return err
		},
	} {
		require.NoError(t, damage())
		bustest.Eventually(t, stands)
		require.Equal(t, target.Change{Owners: []string{owner}}, <-told)
	}
	require.NoError(t, made.Intend(t.Context(), owner, nil))
	require.Error(t, stands())
	owners, err := made.Owners(t.Context())
	require.NoError(t, err)
	require.Empty(t, owners)
}
