package shelf

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/bus/bustest"
)

// Of the changes of a kind so many are kept for who resumes, and of large objects fewer.
func TestChangesThatAreKeptAreBounded(t *testing.T) {
	of := func(count int, weight int64) (ring []Change) {
		for range count {
			ring = append(ring, Change{Now: &Item{weight: weight}})
		}
		return ring
	}
	require.Zero(t, beyond(nil))
	require.Zero(t, beyond(of(ringLength, 100)))
	require.Equal(t, 10, beyond(of(ringLength+10, 100)))
	require.Zero(t, beyond(of(16, 1<<20)))
	require.Equal(t, 24, beyond(of(40, 1<<20)))
	require.Equal(t, 1, beyond(of(1, ringBytes+1)), "who watches lists anew")
}

// anything chooses all objects.
func anything(*unstructured.Unstructured) bool { return true }

// since is what changed after a number, in short, and the newest number.
func since(t *testing.T, s *Shelf, after uint64) (string, uint64) {
	t.Helper()
	changes, number, _, kept := s.since(after)
	require.True(t, kept)
	for i := range changes {
		require.Greater(t, changes[i].Number, after, "numbers grow")
		require.Equal(t, Printed(changes[i].Number), changes[i].Now.Object.GetResourceVersion())
		after = changes[i].Number
	}
	require.GreaterOrEqual(t, number, after)
	return told(changes), number
}

// An object that was deleted and made anew between two looks is another one, and who watches is told of both, whatever their numbers.
func TestAnObjectThatWasMadeAnewIsAnother(t *testing.T) {
	t.Parallel()
	for _, echo := range []bool{false, true} {
		d := newDoor(t)
		s := d.shelves(t, new(atomic.Int64)).Of(configMap)
		d.put("shop/a", "one", "1", false)
		require.NoError(t, s.fresh(t.Context()))
		_, first, _ := s.List("")
		d.put("shop/a", "two", "2", echo)
		require.NoError(t, s.fresh(t.Context()))
		text, number := since(t, s, first)
		require.Equal(t, "DELETED shop/a 1, ADDED shop/a 2", text)
		changes, _, _, _ := s.since(first)
		require.Equal(t, number, changes[1].Number)
		require.EqualValues(t, "one", changes[0].Before.UID)
		require.EqualValues(t, "two", changes[1].Now.UID)
	}
}

// Of many objects those alone are read again whose marks are others, in each hub's way to make marks.
func TestOnlyWhatChangedIsRead(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	s := d.shelves(t, new(atomic.Int64)).Of(configMap)
	fresh := func(reads int, want string) {
		t.Helper()
		_, before, _ := s.List("")
		require.NoError(t, s.fresh(t.Context()))
		require.Equal(t, reads, d.count("list"), want)
		if before > 0 {
			text, _ := since(t, s, before)
			require.Equal(t, want, text)
		}
		found, _, _ := s.List("")
		var all []string
		for _, one := range found {
			all = append(all, one.Key)
		}
		served := 0
		for _, o := range d.objects {
			if o.version == "v1" {
				served++
			}
		}
		require.Len(t, all, served)
		require.IsIncreasing(t, all)
	}
	for i := range 1200 {
		d.put(fmt.Sprintf("shop/%04d", i), "u", "1", false)
	}
	d.objects["shop/old"] = object{uid: "u", version: "v0", revision: 3}
	fresh(1201, "")
	require.Zero(t, d.count("marks"), "at first all are read")
	fresh(0, "")
	require.Zero(t, d.count("marks"), "nothing has changed")
	d.put("shop/0007", "u", "2", false)
	d.put("shop/0008", "u", "2", true)
	fresh(2, "MODIFIED shop/0007 2, MODIFIED shop/0008 2")
	require.Equal(t, 1201, d.count("marks"))
	d.drop("shop/0009")
	d.put("shop/0010", "u", "1", false)
	d.put("tea/a", "v", "3", false)
	fresh(2, "MODIFIED shop/0010 1, ADDED tea/a 3, DELETED shop/0009 1")
	d.objects["shop/old"] = object{uid: "u", version: "v1", text: "4", revision: 3}
	d.put("shop/0007", "u", "3", false)
	fresh(2, "MODIFIED shop/0007 3, ADDED shop/old 4")
	d.objects["shop/old"] = object{uid: "u", version: "v0", text: "4", revision: 3}
	d.put("shop/0007", "u", "4", false)
	fresh(2, "MODIFIED shop/0007 4, DELETED shop/old 4")

	d.marks = func(key string, o object) string { return "another term " + fmt.Sprint(key, o) }
	d.put("shop/0007", "u", "5", false)
	fresh(1201, "MODIFIED shop/0007 5")
	d.marks = func(key string, o object) string {
		if key == "shop/0001" {
			return "" // nobody knows
		}
		return "another term " + fmt.Sprint(key, o)
	}
	d.put("shop/0007", "u", "6", false)
	fresh(2, "MODIFIED shop/0007 6")

	d.old = true
	d.put("shop/0007", "u", "7", false)
	fresh(1201, "MODIFIED shop/0007 7")
	d.put("shop/0007", "u", "8", true)
	fresh(1201, "MODIFIED shop/0007 8")
	d.old, d.marks = false, nil
	d.put("shop/0007", "u", "9", false)
	fresh(1201, "MODIFIED shop/0007 9")
	d.put("shop/0007", "u", "10", false)
	fresh(1, "MODIFIED shop/0007 10")
}

// Who gets an object has that one read, though all others changed, and sees the number that lists give it.
func TestOneObjectCostsThatObject(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	s := d.shelves(t, new(atomic.Int64)).Of(configMap)
	one := func(name, text string, gets, reads int) *Item {
		t.Helper()
		found, err := s.One(t.Context(), "shop", name)
		require.NoError(t, err)
		require.Equal(t, gets, d.count("get"))
		require.Equal(t, reads, d.count("list"))
		if text == "" {
			require.Nil(t, found)
			return nil
		}
		whole := found.Whole().Object
		is, _, _ := unstructured.NestedString(whole.Object, "data", "text")
		require.Equal(t, text, is)
		require.Equal(t, Printed(found.Number), whole.GetResourceVersion())
		return found
	}
	listed := func(name string) uint64 {
		t.Helper()
		require.NoError(t, s.fresh(t.Context()))
		d.count("list")
		found, kept := s.get("shop", name)
		require.True(t, kept)
		return found.Number
	}
	for _, name := range []string{"a", "b", "c"} {
		d.put("shop/"+name, "u", "1", false)
	}
	first := one("a", "1", 1, 0)
	require.Equal(t, first.Number, listed("a"))
	one("a", "1", 0, 0)
	one("nobody", "", 0, 0)

	d.put("shop/b", "u", "2", false)
	one("nobody", "", 1, 0)
	require.Equal(t, first.Number, one("a", "1", 1, 0).Number)
	require.Equal(t, one("b", "2", 1, 0).Number, listed("b"))

	d.put("shop/a", "u", "3", true)
	said := one("a", "3", 1, 1)
	require.Greater(t, said.Number, first.Number, "no record says that it changed, and yet it has another number")
	require.Equal(t, said.Number, listed("a"))
	d.drop("shop/a")
	one("a", "", 1, 0)
	d.put("shop/a", "v", "4", false)
	require.Equal(t, one("a", "4", 1, 0).Number, listed("a"))
}

// However many wait for what is there now, it is read for all of them together; who does not wait any longer ends nothing.
func TestAllWaitForOneRead(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	d.put("shop/a", "u", "1", false)
	d.halts = make(chan struct{})
	s := d.shelves(t, new(atomic.Int64)).Of(configMap)
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 100)
	go func() { errs <- s.fresh(ctx) }()
	bustest.Eventually(t, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.reads.reading || s.reads.next != nil {
			return errors.New("nobody reads")
		}
		return nil
	})
	for range 99 {
		go func() { errs <- s.fresh(t.Context()) }()
	}
	cancel()
	require.ErrorIs(t, <-errs, context.Canceled)
	bustest.Eventually(t, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.reads.next == nil {
			return errors.New("nobody waits")
		}
		return nil
	})
	close(d.halts)
	for range 99 {
		require.NoError(t, <-errs)
	}
	require.Equal(t, 1, d.lists, "the second look finds nothing new")
}

// All shelves together take so much memory. Beyond that the one that takes most keeps the texts of its objects alone, and shows the same; where
// that is not enough the one that takes most is emptied. Its objects are listed in pages, who watches them is sent away, and later it is tried
// again.
func TestWhatShelvesHoldIsBounded(t *testing.T) {
	t.Parallel()
	d, on := newDoor(t), &atomic.Int64{}
	a := d.shelves(t, on)
	secret, stays := configMap, configMap
	secret.Kind, stays.Kind, stays.Stays = "Secret", "Service", true
	d.spaces = map[string]string{"ConfigMap": "shop", "Secret": "tea", "Service": "bar"}
	for i := range 100 {
		d.put(fmt.Sprintf("shop/%02d", i), "u", strings.Repeat("x", 1000), false)
		if i < 50 {
			d.put(fmt.Sprintf("bar/%02d", i), "u", strings.Repeat("x", 1000), false)
		}
	}
	d.put("tea/a", "u", strings.Repeat("x", 1000), false)
	small, large, last := a.Of(secret), a.Of(configMap), a.Of(stays)
	for _, s := range []*Shelf{small, large, last} {
		require.NoError(t, s.fresh(t.Context()))
		require.Equal(t, s.weight(), a.held[s])
	}
	all, number, _ := large.List("")
	require.Len(t, all, 100)
	a.most.Kept = a.items()*rings/itemsPart + 1

	d.put("tea/a", "u", strings.Repeat("x", 2000), false)
	require.NoError(t, small.fresh(t.Context()), "another gives way")
	require.Equal(t, []bool{false, true, false}, []bool{small.isLean(), large.isLean(), last.isLean()})
	lean, same, _ := large.List("")
	require.Equal(t, number, same)
	for i, one := range lean {
		require.Nil(t, one.Object)
		require.Equal(t, all[i].weight, one.Decoded())
		require.Equal(t, all[i].Object, one.Whole().Object)
	}
	d.put("shop/07", "u", "2", false)
	d.put("shop/08", "v", "3", true)
	require.NoError(t, large.fresh(t.Context()))
	text, now := since(t, large, number)
	require.Equal(t, "MODIFIED shop/07 2, DELETED shop/08 "+strings.Repeat("x", 1000)+", ADDED shop/08 3", text)
	require.Equal(t, large.weight(), a.held[large])
	_, _, next, kept := large.since(now)
	require.True(t, kept)

	a.most.Kept = 130 << 10
	d.put("tea/a", "u", strings.Repeat("x", 1000), false)
	require.NoError(t, small.fresh(t.Context()), "another gives way")
	<-next
	_, _, _, kept = large.since(now)
	require.False(t, kept, "who watches is sent away")
	require.True(t, large.isWide())
	require.ErrorIs(t, large.fresh(t.Context()), ErrWide)
	require.Zero(t, a.held[large].items)
	require.False(t, small.isWide())
	require.False(t, last.isWide())
	one, err := large.One(t.Context(), "shop", "07")
	require.NoError(t, err)
	require.Nil(t, one.Object, "whoever asks decodes it once there is room")
	require.Equal(t, "07", one.Whole().Object.GetName())

	var names []string
	from, pages := "", 0
	for pages = 1; ; pages++ {
		found, next, _, err := large.Page(t.Context(), "shop", "", from, 30, anything)
		require.NoError(t, err)
		for _, one := range found {
			names = append(names, one.Object.GetName())
		}
		if from = next; next == "" {
			break
		}
	}
	require.Equal(t, 4, pages)
	require.Len(t, names, 100)
	require.IsIncreasing(t, names)
	found, rest, _, err := large.Page(t.Context(), "tea", "", "", 0, anything)
	require.NoError(t, err)
	require.Empty(t, found)
	require.Empty(t, rest)

	on.Add(int64(keptFor))
	require.ErrorIs(t, large.fresh(t.Context()), ErrWide, "there is no room yet")
	require.Zero(t, a.held[large].items)
	_, _, kept = small.List("")
	require.False(t, kept, "nobody has looked at it for a while")
	require.NoError(t, small.fresh(t.Context()), "and it is read again for who does")
	_, _, kept = last.List("")
	require.True(t, kept)
	on.Add(int64(keptFor))
	a.most.Kept *= 4
	require.NoError(t, large.fresh(t.Context()))
	found, again, _ := large.List("")
	require.Len(t, found, 100)
	require.Greater(t, again, now)
	_, _, _, kept = large.since(again)
	require.True(t, kept)
	_, _, _, kept = large.since(now)
	require.False(t, kept, "nobody knows what changed meanwhile")

	d.put("shop/07", "u", "4", false)
	a.most.Kept = 130 << 10
	require.ErrorIs(t, large.fresh(t.Context()), ErrWide)
	require.False(t, last.isWide(), "it gives way last")
	a.most.Kept = 1
	d.put("bar/00", "u", "2", false)
	require.ErrorIs(t, last.fresh(t.Context()), ErrWide)
	require.True(t, last.isWide(), "where it is too large alone")
	require.Zero(t, a.items())
}

// A shelf that becomes too large while it is read becomes lean meanwhile.
func TestAShelfBecomesLeanWhileItIsRead(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	d.largest = 10
	a := d.shelves(t, new(atomic.Int64))
	a.most.Kept = 380 << 10
	for i := range 150 {
		d.put(fmt.Sprintf("shop/%03d", i), "u", strings.Repeat("x", 1000), false)
	}
	s := a.Of(configMap)
	require.NoError(t, s.fresh(t.Context()))
	require.True(t, s.isLean())
	found, number, _ := s.List("")
	require.Len(t, found, 150)
	require.Equal(t, s.weight(), a.held[s])
	require.Less(t, s.weight().items, a.most.Kept)
	a.most.Kept = 4 << 20
	for i := range 150 {
		d.put(fmt.Sprintf("shop/%03d", i), "u", "2", i%2 == 0)
	}
	require.NoError(t, s.fresh(t.Context()))
	text, _ := since(t, s, number)
	require.Equal(t, 150, strings.Count(text, "MODIFIED"))
	require.Equal(t, s.weight(), a.held[s])
}

// Large objects fill a page before there are as many as were asked for, and a list without pages is refused.
func TestPagesOfLargeObjectsAreShort(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	a := d.shelves(t, new(atomic.Int64))
	a.most.Page, a.most.List = 20<<10, 60<<10
	s := a.Of(configMap)
	d.largest = 4
	for i := range 80 {
		d.put(fmt.Sprintf("shop/%02d", i), "u", strings.Repeat("x", 1<<10), false)
	}
	var names []string
	for from := ""; ; {
		found, next, _, err := s.Page(t.Context(), "", "", from, 70, anything)
		require.NoError(t, err)
		for _, one := range found {
			names = append(names, one.Key)
		}
		if from = next; next == "" {
			break
		}
		require.Len(t, found, 8)
	}
	require.Len(t, names, 80)
	require.IsIncreasing(t, names)
	a.most.Page = 1
	found, next, _, err := s.Page(t.Context(), "", "", "shop/11", 70, anything)
	require.NoError(t, err)
	require.Len(t, found, 1, "one has a page to itself, however large")
	require.Equal(t, "shop/12", found[0].Key)
	require.NotEmpty(t, next)
	_, _, _, err = s.Page(t.Context(), "", "", "", 0, anything)
	require.ErrorIs(t, err, ErrWide)
}

// A kind is followed while it is watched, by one however many watch, and not for some time after they have ended; what nobody has looked at for
// long is kept no more, and begins anew.
func TestAKindIsFollowedWhileItIsWatched(t *testing.T) {
	t.Parallel()
	d, on := newDoor(t), &atomic.Int64{}
	a := d.shelves(t, on)
	other, stays := configMap, configMap
	other.Kind, stays.Kind, stays.Stays = "Secret", "Service", true
	for _, k := range []Kind{configMap, other, stays} {
		require.NoError(t, a.Of(k).fresh(t.Context()))
	}
	require.Zero(t, d.most)
	kept := a.Of(configMap)
	var leave []func()
	for range 3 {
		leave = append(leave, kept.Attend())
	}
	bustest.Eventually(t, d.waits(1))
	require.Equal(t, 1, d.most)
	_, number, _ := kept.List("")
	_, _, changed, _ := kept.since(number)
	d.put("shop/a", "u", "1", false)
	d.wakes <- struct{}{}
	<-changed
	bustest.Eventually(t, d.waits(1))
	for _, end := range leave[1:] {
		end()
	}
	on.Add(int64(2 * keptFor))
	a.tidy()
	require.Len(t, a.shelves, 2, "of what is watched, and of what stays")
	require.Same(t, kept, a.Of(configMap))
	bustest.Eventually(t, d.waits(1))

	leave[0]()
	bustest.Eventually(t, func() error {
		select {
		case d.wakes <- struct{}{}:
		default: // the wait may have ended already
		}
		return d.waits(0)()
	})
	a.tidy()
	require.Len(t, a.shelves, 2, "it was looked at just now")
	on.Add(int64(keptFor + time.Second))
	a.tidy()
	require.Len(t, a.shelves, 1)
	require.Error(t, kept.life.Err())
	require.Error(t, kept.fresh(t.Context()))

	defer a.Of(configMap).Attend()()
	bustest.Eventually(t, d.waits(1))
	require.NotSame(t, kept, a.Of(configMap))
}
