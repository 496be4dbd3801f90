package shelf

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// says is the text of an object of the door.
func (i *Item) says() string {
	text, _, _ := unstructured.NestedString(i.Whole().Object.Object, "data", "text")
	return text
}

// view is what somebody knows by what they were told.
type view map[string]*Item

// tell takes in one event, which has to follow from those before.
func (v view) tell(t *testing.T, c *Change) {
	t.Helper()
	was, now := v[c.Now.Key], c.Now
	switch c.Kind {
	case watch.Added:
		require.Nil(t, was, "%s was added before", c.Now.Key)
	case watch.Deleted:
		require.NotNil(t, was, "%s is not known", c.Now.Key)
		now = nil
	case watch.Modified:
		require.NotNil(t, was, "%s is not known", c.Now.Key)
		require.Equal(t, was.UID, now.UID)
	}
	if c.Before != nil {
		require.Equal(t, was.says(), c.Before.says(), "it is what was known")
		require.Greater(t, c.Number, was.Number)
	}
	if v[c.Now.Key] = now; now == nil {
		delete(v, c.Now.Key)
	}
}

// Whoever is told of objects one after the other, while these change, knows all of them at last, and was told nothing that contradicts what was
// told before.
func TestWhoIsToldWhileObjectsChangeKnowsThem(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		d := newDoor(t)
		s := d.shelves(t, new(atomic.Int64)).Of(configMap)
		change := func() {
			for range r.IntN(4) {
				key := fmt.Sprintf("%s/%d", []string{"shop", "shop-2", "tea"}[r.IntN(3)], r.IntN(6))
				if _, found := d.objects[key]; found && r.IntN(3) == 0 {
					d.drop(key)
					continue
				}
				d.put(key, fmt.Sprint("u", r.IntN(2)), fmt.Sprint(r.IntN(1000)), r.IntN(3) == 0)
				if o := d.objects[key]; r.IntN(3) == 0 { // it is shown of the newest record, as others are
					o.revision = d.revision
					d.objects[key] = o
				}
			}
			require.NoError(t, s.fresh(t.Context()))
		}
		for range 8 {
			change()
		}
		if seed%3 == 0 {
			s.keepAs(true)
		}
		var at Place
		known := view{}
		for steps := 0; ; {
			if steps < 40 && r.IntN(3) == 0 {
				change()
				steps++
			}
			one, is, next, kept := s.Next(&at, func(*Item) bool { return true })
			require.True(t, kept)
			if is {
				known.tell(t, &one)
				at.Passed(&one)
				continue
			}
			require.True(t, at.All)
			if next != nil && steps == 40 {
				break
			}
		}
		found, number, _ := s.List("")
		require.Equal(t, number, at.Number)
		require.Len(t, known, len(found))
		for _, one := range found {
			require.Equal(t, one.says(), known[one.Key].says())
			require.Equal(t, one.Number, known[one.Key].Number)
		}
	}
}

// A place is moved over what may tell nothing, and waits behind it.
func TestAPlaceIsMovedOverWhatTellsNothing(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	s := d.shelves(t, new(atomic.Int64)).Of(configMap)
	for i := range 10 {
		d.put(fmt.Sprintf("shop/%d", i), "u", "1", false)
	}
	require.NoError(t, s.fresh(t.Context()))
	seventh := func(i *Item) bool { return i.Key == "shop/7" }
	next := func(at *Place) string {
		t.Helper()
		one, is, _, kept := s.Next(at, seventh)
		require.True(t, kept)
		if !is {
			return ""
		}
		return told([]Change{one})
	}
	var at Place
	require.Equal(t, "ADDED shop/7 1", next(&at))
	require.Equal(t, "shop/6", at.key)
	d.put("shop/0", "u", "2", false)
	d.put("shop/7", "u", "2", false)
	d.put("shop/9", "u", "2", false)
	require.NoError(t, s.fresh(t.Context()))
	require.Equal(t, "ADDED shop/7 1", next(&at), "it is as it was at first")
	one, _, _, _ := s.Next(&at, seventh)
	at.Passed(&one)
	require.Empty(t, next(&at))
	require.True(t, at.All)
	require.Equal(t, "MODIFIED shop/7 2", next(&at))
	one, _, _, _ = s.Next(&at, seventh)
	at.Passed(&one)
	require.Empty(t, next(&at))
	_, number, _ := s.List("")
	require.Equal(t, number, at.Number)

	_, _, changed, _ := s.Next(&at, seventh)
	d.put("shop/9", "u", "3", false)
	d.put("shop/7", "u", "3", false)
	require.NoError(t, s.fresh(t.Context()))
	<-changed
	require.Equal(t, "MODIFIED shop/7 3", next(&at))
	s.empty(s.all.now(), false)
	_, _, _, kept := s.Next(&at, seventh)
	require.False(t, kept)
	_, _, _, kept = s.Next(&Place{}, seventh)
	require.False(t, kept, "an empty shelf tells nobody that there is nothing")
}

// Several objects may have the version of one record. Whoever is told of their changes is told of each, one at a time.
func TestChangesOfOneRecordAreToldEach(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	s := d.shelves(t, new(atomic.Int64)).Of(configMap)
	keys := []string{"shop/a", "shop/b", "shop/c"}
	for round := range 3 {
		for _, key := range keys {
			d.put(key, fmt.Sprint("u", round/2), fmt.Sprint(round), false)
		}
		for _, key := range keys {
			o := d.objects[key]
			o.revision = d.revision
			d.objects[key] = o
		}
		require.NoError(t, s.fresh(t.Context()))
	}
	at := Place{Number: s.ring.oldest, All: true}
	var all []Change
	for {
		one, is, _, kept := s.Next(&at, func(*Item) bool { return true })
		require.True(t, kept)
		if !is {
			break
		}
		all = append(all, one)
		require.Greater(t, one.Number, at.Number)
		at.Passed(&one)
	}
	require.Equal(t, "MODIFIED shop/a 1, MODIFIED shop/b 1, MODIFIED shop/c 1, "+
		"DELETED shop/a 1, ADDED shop/a 2, DELETED shop/b 1, ADDED shop/b 2, DELETED shop/c 1, ADDED shop/c 2", told(all))
}
