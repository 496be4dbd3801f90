package front_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/front/shelf"
)

// Objects that are too large together to be kept are got, changed and listed in pages as others are; they are not watched.
func TestKindsThatAreTooLargeAreListedInPages(t *testing.T) {
	t.Parallel()
	f := startBounded(t, shelf.Bounds{Kept: 64 << 10, Page: 40 << 10, List: 80 << 10})
	c := f.admin()
	for i := range 30 {
		u := settings(fmt.Sprintf("m%02d", i), map[string]any{"text": strings.Repeat("x", 4<<10)})
		u.SetLabels(map[string]string{"even": fmt.Sprint(i%2 == 0)})
		c.create(configMaps, u)
	}
	ctx := bustest.Context(t)
	walk := func(o metav1.ListOptions) (names []string, pages int) {
		for {
			list, err := c.maps().List(ctx, o)
			require.NoError(t, err)
			require.NotEmpty(t, list.GetResourceVersion())
			for i := range list.Items {
				names = append(names, list.Items[i].GetName())
			}
			pages++
			if o.Continue = list.GetContinue(); o.Continue == "" {
				require.IsIncreasing(t, names)
				return names, pages
			}
		}
	}
	names, pages := walk(metav1.ListOptions{Limit: 4})
	require.Len(t, names, 30)
	require.Equal(t, 8, pages)
	names, _ = walk(metav1.ListOptions{Limit: 500})
	require.Len(t, names, 30)
	names, _ = walk(metav1.ListOptions{Limit: 500, LabelSelector: "even=true"})
	require.Len(t, names, 15)
	names, _ = walk(metav1.ListOptions{Limit: 500, FieldSelector: "metadata.name=m07"})
	require.Equal(t, []string{"m07"}, names)

	_, err := c.maps().List(ctx, metav1.ListOptions{})
	require.True(t, apierrors.IsRequestEntityTooLargeError(err), err)
	require.ErrorContains(t, err, "all configmaps together take more memory than this hub keeps objects in, and cannot come in one answer: list them in pages, with limit=500")
	_, err = c.maps().Watch(ctx, metav1.ListOptions{})
	require.True(t, apierrors.IsRequestEntityTooLargeError(err), err)
	require.ErrorContains(t, err, "cannot be watched: list them in pages, or get one by its name")
	_, err = c.maps().List(ctx, metav1.ListOptions{Limit: 4, Continue: "c2hvcC9tMDc"}) // of a list that was kept
	require.True(t, apierrors.IsResourceExpired(err), err)

	changed, err := c.maps().Get(ctx, "m07", metav1.GetOptions{})
	require.NoError(t, err)
	changed.Object["data"] = map[string]any{"y": "2"}
	changed, err = c.maps().Update(ctx, changed, metav1.UpdateOptions{})
	require.NoError(t, err)
	found, err := c.maps().Get(ctx, "m07", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, changed, found)
	require.NoError(t, c.maps().Delete(ctx, "m07", metav1.DeleteOptions{}))
	_, err = c.maps().Get(ctx, "m07", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), err)
	w, err := c.Resource(namespaces).Watch(ctx, metav1.ListOptions{})
	require.NoError(t, err, "other kinds are kept")
	w.Stop()
}

// A page ends once it is large, also of objects that are kept, and a list without pages is refused that would be too large.
func TestListsAreBounded(t *testing.T) {
	t.Parallel()
	most := shelf.Usual
	most.Page, most.List = 40<<10, 80<<10
	f := startBounded(t, most)
	c := f.client(f.as(f.hub, "olga", api.RoleOperator))
	for i := range 30 {
		c.create(configMaps, settings(fmt.Sprintf("m%02d", i), map[string]any{"text": strings.Repeat("x", 4<<10)}))
	}
	var names []string
	o := metav1.ListOptions{Limit: 500}
	for pages := 1; ; pages++ {
		list, err := c.maps().List(t.Context(), o)
		require.NoError(t, err)
		for i := range list.Items {
			names = append(names, list.Items[i].GetName())
		}
		if o.Continue = list.GetContinue(); o.Continue == "" {
			require.Equal(t, 4, pages)
			break
		}
	}
	require.Len(t, names, 30)
	require.IsIncreasing(t, names)
	_, err := c.maps().List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsRequestEntityTooLargeError(err), err)
	list, err := c.maps().List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=m07"})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
}

// Objects of which a hub keeps the texts alone are listed, got and watched as others are.
func TestTextsAreServedAsObjectsAre(t *testing.T) {
	t.Parallel()
	most := shelf.Usual
	most.Kept = 400 << 10
	f := startBounded(t, most)
	c := f.admin()
	for i := range 20 {
		data := map[string]any{}
		for j := range 200 {
			data[fmt.Sprint("k", j)] = "v"
		}
		c.create(configMaps, settings(fmt.Sprintf("m%02d", i), data))
	}
	ctx := bustest.Context(t)
	list, err := c.maps().List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 20)
	all, err := c.maps().Watch(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	defer all.Stop()
	for i := range 20 {
		e := next(t, all)
		require.Equal(t, fmt.Sprintf("ADDED m%02d", i), told(e))
		require.Equal(t, &list.Items[i], e.Object)
	}
	one, err := c.maps().Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=m07"})
	require.NoError(t, err)
	defer one.Stop()
	require.Equal(t, "ADDED m07", told(next(t, one)))
	list.Items[7].Object["data"] = map[string]any{"y": "2"}
	changed, err := c.maps().Update(ctx, &list.Items[7], metav1.UpdateOptions{})
	require.NoError(t, err)
	for _, w := range []watch.Interface{all, one} {
		e := next(t, w)
		require.Equal(t, "MODIFIED m07", told(e))
		require.Equal(t, changed, e.Object)
	}
	require.NoError(t, c.maps().Delete(ctx, "m07", metav1.DeleteOptions{}))
	for _, w := range []watch.Interface{all, one} {
		require.Equal(t, "DELETED m07", told(next(t, w)))
	}
}
