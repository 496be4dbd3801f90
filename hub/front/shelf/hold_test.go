package shelf

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// fill puts so many objects of a kilobyte into a namespace.
func (d *plainDoor) fill(namespace string, count int) {
	for i := range count {
		d.put(fmt.Sprintf("%s/%03d", namespace, i), "u", strings.Repeat("x", 1000), false)
	}
}

// of is a kind whose objects lie in a namespace of its own.
func (d *plainDoor) of(kind string) Kind {
	k := configMap
	k.Kind = kind
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.spaces == nil {
		d.spaces = map[string]string{}
	}
	d.spaces[kind] = strings.ToLower(kind)
	return k
}

// room has shelves together keep so many bytes of objects.
func (a *All) room(items int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.most.Kept = items*rings/itemsPart + rings
}

// Viewers see the objects of a kind in a shelf of their own. It gives way to that of operators, whoever came first, and however the other is used.
func TestWhatViewersSeeGivesWayToWhatOperatorsSee(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{false, true} {
		d := newDoor(t)
		d.largest = 10
		a := d.shelves(t, new(atomic.Int64))
		d.fill("shop", 150)
		viewers, operators := configMap, a.Of(configMap)
		viewers.Values = false
		if first {
			require.NoError(t, a.Of(viewers).fresh(t.Context()))
			defer a.Of(viewers).Attend()()
			a.room(300 << 10)
		}
		require.NoError(t, operators.fresh(t.Context()))
		a.room(300 << 10)
		require.ErrorIs(t, a.Of(viewers).fresh(t.Context()), ErrWide)
		_, _, kept := operators.List("")
		require.True(t, kept)
	}
}

// Of two kinds that find room alone the first keeps it while it is used, and a small one finds room beside a large one.
func TestKindsDoNotDriveEachOtherOut(t *testing.T) {
	t.Parallel()
	d, on := newDoor(t), &atomic.Int64{}
	d.largest = 10
	a := d.shelves(t, on)
	one, two, small := a.Of(d.of("One")), a.Of(d.of("Two")), a.Of(d.of("Small"))
	d.fill("one", 150)
	d.fill("two", 160)
	d.fill("small", 20)
	require.NoError(t, one.fresh(t.Context()))
	defer one.Attend()()
	a.room(420 << 10)
	for range 4 {
		require.ErrorIs(t, two.fresh(t.Context()), ErrWide)
		require.NoError(t, one.fresh(t.Context()))
		on.Add(int64(keptFor))
	}
	a.room(one.weight().items + 5000)
	require.NoError(t, small.fresh(t.Context()))
	defer small.Attend()()
	require.True(t, one.isWide(), "it takes more than twice as much")
	a.room(420 << 10)
	require.NoError(t, two.fresh(t.Context()))
	defer two.Attend()()
	a.room(300 << 10) // one takes little of it once it is full
	for range 4 {
		on.Add(int64(keptFor))
		require.ErrorIs(t, one.fresh(t.Context()), ErrWide, "it would be too large again")
		require.NoError(t, two.fresh(t.Context()))
		require.NoError(t, small.fresh(t.Context()))
	}
}

// What nobody uses any more is forgotten before anything that is used gives way, and is read again when somebody looks.
func TestWhatNobodyUsesIsForgotten(t *testing.T) {
	t.Parallel()
	d, on := newDoor(t), &atomic.Int64{}
	a := d.shelves(t, on)
	var all []*Shelf
	for _, kind := range []string{"One", "Two", "Three"} {
		d.fill(strings.ToLower(kind), 50)
		s := a.Of(d.of(kind))
		require.NoError(t, s.fresh(t.Context()))
		all = append(all, s)
		on.Add(int64(unusedFor / 2))
	}
	defer all[1].Attend()()
	on.Add(int64(unusedFor))
	a.Of(*all[2].Kind())
	d.fill("four", 70)
	a.room(300 << 10)
	require.NoError(t, a.Of(d.of("Four")).fresh(t.Context()))
	kept := func() (all3 [3]bool) {
		for i, s := range all {
			_, _, all3[i] = s.List("")
			require.False(t, s.isWide())
		}
		return all3
	}
	require.Equal(t, [3]bool{false, true, true}, kept())
	_, number, _ := all[0].List("")
	_, _, _, goesOn := all[0].since(number)
	require.False(t, goesOn)
	a.room(1 << 20)
	found, number, err := all[0].Kept(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, found, 50)
	_, _, _, goesOn = all[0].since(number)
	require.True(t, goesOn)
}

// Where there is room again objects are kept as they are used.
func TestThereIsRoomAgain(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	a := d.shelves(t, new(atomic.Int64))
	s := a.Of(configMap)
	d.fill("shop", 50)
	require.NoError(t, s.fresh(t.Context()))
	whole := s.weight()
	require.NoError(t, s.fresh(t.Context()))
	d.put("shop/001", "u", "2", false)
	a.room(whole.items - 5000)
	require.NoError(t, s.fresh(t.Context()))
	require.True(t, s.isLean())
	a.tidy()
	require.True(t, s.isLean())
	a.room(2*whole.items + 5000)
	a.tidy()
	require.False(t, s.isLean())
	found, _, _ := s.List("")
	require.Len(t, found, 50)
	for _, one := range found {
		require.NotNil(t, one.Object)
		require.Equal(t, Printed(one.Number), one.Object.GetResourceVersion())
	}
	require.Equal(t, s.weight().items, a.held[s].items)
}

// Changes have their part of the room: the most are dropped, and no object gives way to them.
func TestChangesHaveTheirPartOfTheRoom(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	a := d.shelves(t, new(atomic.Int64))
	a.most.Kept = 600 << 10
	busy, quiet := a.Of(d.of("Busy")), a.Of(d.of("Quiet"))
	d.fill("busy", 20)
	d.fill("quiet", 20)
	require.NoError(t, quiet.fresh(t.Context()))
	_, first, _ := quiet.List("")
	require.NoError(t, busy.fresh(t.Context()))
	_, begun, _ := busy.List("")
	d.put("quiet/001", "u", "2", false)
	require.NoError(t, quiet.fresh(t.Context()))
	for i := range 50 {
		d.fill("busy", 20)
		d.put("busy/000", "u", fmt.Sprint(i), false)
		require.NoError(t, busy.fresh(t.Context()))
		_, number, _ := busy.List("")
		_, _, _, kept := busy.since(number)
		require.True(t, kept, "who follows misses nothing")
	}
	var sum int64
	for _, h := range a.held {
		sum += h.ring
	}
	require.LessOrEqual(t, sum, a.most.Kept/rings)
	require.Equal(t, busy.weight(), a.held[busy])
	_, _, _, kept := busy.since(begun)
	require.False(t, kept)
	text, _ := since(t, quiet, first)
	require.Equal(t, "MODIFIED quiet/001 2", text, "the largest are dropped")
	require.False(t, busy.isLean() || quiet.isLean())
}

// emptying has something happen whenever somebody asked with a verb.
type emptying struct {
	*plainDoor
	verb string
	then func()
}

func (e *emptying) Ask(ctx context.Context, by api.Caller, verb string, question, answer any) error {
	err := e.plainDoor.Ask(ctx, by, verb, question, answer)
	if verb == e.verb && e.then != nil {
		e.then()
	}
	return err
}

// Who asks while a shelf is emptied is told of the objects that there are.
func TestAShelfIsEmptiedWhileSomebodyAsks(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	a := d.shelves(t, new(atomic.Int64))
	e := &emptying{plainDoor: d, verb: api.VerbWatch}
	a.door = e
	d.put("shop/a", "u", "1", false)
	s := a.Of(configMap)
	found, _, err := s.Kept(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, found, 1)
	times := 1
	e.then = func() {
		if times--; times >= 0 {
			s.empty(a.now(), false)
		}
	}
	one, err := s.One(t.Context(), "shop", "a")
	require.NoError(t, err)
	require.NotNil(t, one)
	require.NoError(t, s.fresh(t.Context()))
	times = 1
	d.put("shop/b", "u", "1", false)
	found, _, err = s.Kept(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, found, 2)
	e.verb, times = api.VerbList, 1
	d.put("shop/b", "u", "2", false)
	_, _, err = s.Kept(t.Context(), "")
	require.ErrorIs(t, err, ErrWide, "others drive it out while it is read")
	found, _, err = s.Kept(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, found, 2)
}

// Who listed pages while objects were not kept lists anew before they watch.
func TestNobodyWatchesFromAPage(t *testing.T) {
	t.Parallel()
	d, on := newDoor(t), &atomic.Int64{}
	a := d.shelves(t, on)
	s := a.Of(configMap)
	d.put("shop/a", "u", "1", false)
	require.NoError(t, s.fresh(t.Context()))
	s.empty(a.now(), true)
	d.put("shop/a", "u", "2", false)
	d.put("shop/gone", "u", "", false) // the newest record is of nothing that is there
	d.drop("shop/gone")
	_, _, number, err := s.Page(t.Context(), "", "", "", 10, anything)
	require.NoError(t, err)
	d.put("shop/a", "u", "3", true)
	on.Add(int64(keptFor))
	found, again, err := s.Kept(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, found, 1)
	_, _, _, kept := s.since(number)
	require.False(t, kept)
	_, _, _, kept = s.since(again)
	require.True(t, kept)
}

// Who watches from the answer to a change is told of what members said since, which no record says.
func TestAWatchGoesOnFromOneObject(t *testing.T) {
	t.Parallel()
	for _, listed := range []bool{true, false} {
		d := newDoor(t)
		s := d.shelves(t, new(atomic.Int64)).Of(configMap)
		d.put("shop/a", "u", "1", false)
		if listed {
			require.NoError(t, s.fresh(t.Context()))
		}
		d.put("shop/b", "u", "made", false)
		one, err := s.One(t.Context(), "shop", "b")
		require.NoError(t, err)
		same, err := s.One(t.Context(), "shop", "b")
		require.NoError(t, err)
		require.Equal(t, one.Number, same.Number)
		d.put("shop/b", "u", "available", true)
		later, err := s.One(t.Context(), "shop", "b")
		require.NoError(t, err)
		require.Greater(t, later.Number, one.Number)
		require.NoError(t, s.fresh(t.Context()))
		found, kept := s.get("shop", "b")
		require.True(t, kept)
		require.Equal(t, later.Number, found.Number)
		if changes, _, _, kept := s.since(one.Number); kept {
			require.Contains(t, told(changes), "available")
		}
	}
}

// What is read while the shelf becomes lean is kept as that.
func TestWhatIsReadMeanwhileIsLean(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	s := d.shelves(t, new(atomic.Int64)).Of(configMap)
	d.put("shop/a", "u", "1", false)
	l := &listing{shelf: s, before: s.content.items, at: map[string]int{}}
	require.NoError(t, l.all(t.Context()))
	s.keepAs(true)
	require.NoError(t, s.take(l, "1"))
	require.Nil(t, s.content.items["shop/a"].Object)
	s.empty(s.all.now(), false)
	require.ErrorIs(t, s.take(l, "1"), ErrWide, "what was read before is not kept")
	require.Empty(t, s.content.items)
}

// A read ends where the shelf keeps objects again while its texts are read.
func TestAReadEndsWhereTheShelfKeepsObjectsAgain(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	a := d.shelves(t, new(atomic.Int64))
	d.fill("shop", 3)
	s := a.Of(configMap)
	require.NoError(t, s.fresh(t.Context()))
	s.keepAs(true)
	a.door = &emptying{plainDoor: d, verb: api.VerbList, then: func() { s.keepAs(false) }}
	d.put("shop/000", "u", "2", false)
	require.NoError(t, s.fresh(t.Context()))
	found, _, _ := s.List("")
	require.Equal(t, "2", found[0].says())
	require.Equal(t, s.weight(), a.held[s])
}

// After the end nothing is begun any more, and who asks is told to ask again.
func TestNothingBeginsAfterTheEnd(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	d.put("shop/a", "u", "1", false)
	a := d.shelves(t, new(atomic.Int64))
	s := a.Of(configMap)
	a.Close()
	var failure *api.Failure
	require.ErrorAs(t, s.fresh(t.Context()), &failure)
	require.Equal(t, api.CodeUnavailable, failure.Code)
	s.Attend()()
	a.work.End()
	require.Zero(t, d.lists)
}
