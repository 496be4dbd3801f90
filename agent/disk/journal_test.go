package disk_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/agent/disk"
	"flotilla/bus/bustest"
)

var then = time.Unix(1000, 5)

func journal(t *testing.T, path string) *disk.Journal {
	t.Helper()
	j, err := disk.OpenJournal(path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = j.Close() })
	return j
}

// holds is all that a journal holds.
func holds(t *testing.T, j *disk.Journal) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name := range j.Names("") {
		value, err := j.Get(name)
		require.NoError(t, err)
		out[name] = string(value)
	}
	return out
}

func TestAJournalHoldsTheNewestOfEachName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := journal(t, path)
	_, err := j.Get("a")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, j.Put("a", []byte("1"), then))
	require.NoError(t, j.Put("b", nil, then))
	require.NoError(t, j.Put("a", []byte("2"), then.Add(time.Hour)))
	require.NoError(t, j.Put("c", []byte("3"), then))
	require.NoError(t, j.Drop("c"))
	require.NoError(t, j.Drop("c"))
	want := map[string]string{"a": "2", "b": ""}
	require.Equal(t, want, holds(t, j))
	require.NoError(t, j.Close())
	require.NoError(t, j.Close())
	require.ErrorIs(t, j.Put("a", nil, then), fs.ErrClosed)

	j = journal(t, path)
	require.Equal(t, want, holds(t, j))
	names := j.Names("a")
	require.Len(t, names, 1)
	require.True(t, names["a"].Equal(then.Add(time.Hour)))
}

// states are what a journal held after each of some changes, by how long its file was; the first is of none.
func states(t *testing.T, path string) (sizes []int, held []map[string]string) {
	t.Helper()
	j := journal(t, path)
	note := func() {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		sizes, held = append(sizes, len(text)), append(held, holds(t, j))
	}
	note()
	for i := range 6 {
		require.NoError(t, j.Put(fmt.Sprint(i%3), bytes.Repeat([]byte{byte(i)}, 5*i), then))
		note()
		if i%2 == 1 {
			require.NoError(t, j.Sync())
		}
	}
	require.NoError(t, j.Drop("1"))
	note()
	require.NoError(t, j.Close())
	return sizes, held
}

// Wherever a crash cuts the file, and whatever it leaves behind the cut, all that was whole before is held, and nothing
// else; and the journal goes on from there.
func TestATornTailIsCutOff(t *testing.T) {
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole")
	sizes, held := states(t, whole)
	text, err := os.ReadFile(whole)
	require.NoError(t, err)
	tails := []string{"", "\x00\x00\x00\x00\x00\x00\x00\x00", "\xff1FLJ garbage that is as long as a record is at least, and longer"}
	for cut := range len(text) + 1 {
		last := 0
		for i, size := range sizes {
			if size <= cut {
				last = i
			}
		}
		path := filepath.Join(dir, "cut")
		require.NoError(t, os.WriteFile(path, append(slices.Clone(text[:cut]), tails[cut%len(tails)]...), 0o600))
		j := journal(t, path)
		require.Equal(t, held[last], holds(t, j), "cut at %d", cut)
		require.NoError(t, j.Put("more", []byte("x"), then))
		require.NoError(t, j.Close())
		want := maps.Clone(held[last])
		want["more"] = "x"
		require.Equal(t, want, holds(t, journal(t, path)))
	}
}

// What lies behind a cut does not come back when something is written before it.
func TestWhatLiesBehindACutIsGone(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "journal"), filepath.Join(dir, "other")
	stale := journal(t, other)
	require.NoError(t, stale.Put("a", []byte("stale"), then))
	require.NoError(t, stale.Close())
	record, err := os.ReadFile(other)
	require.NoError(t, err)
	torn := append(make([]byte, len(record)), record...)
	require.NoError(t, os.WriteFile(path, torn, 0o600))
	j := journal(t, path)
	require.NoError(t, j.Put("a", []byte("newer"), then))
	require.NoError(t, j.Close())
	require.Equal(t, map[string]string{"a": "newer"}, holds(t, journal(t, path)))
}

// A byte that is not what was written is never read as data: the file is refused where that byte had been on the disk
// and something came after, and else ends before it.
func TestADamagedByteIsNeverReadAsData(t *testing.T) {
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole")
	sizes, held := states(t, whole)
	text, err := os.ReadFile(whole)
	require.NoError(t, err)
	refused := 0
	for at := range text {
		changed := slices.Clone(text)
		changed[at] ^= 0x40
		path := filepath.Join(dir, "changed")
		require.NoError(t, os.WriteFile(path, changed, 0o600))
		j, err := disk.OpenJournal(path)
		if err != nil {
			require.ErrorIs(t, err, disk.ErrDamaged)
			require.ErrorContains(t, err, "take it from a backup")
			refused++
			continue
		}
		last := 0
		for i, size := range sizes {
			if size <= at {
				last = i
			}
		}
		require.Equal(t, held[last], holds(t, j), "changed at %d", at)
		require.NoError(t, j.Close())
	}
	require.Equal(t, sizes[6], refused, "up to the last Sync that a later record knows of")
}

// A byte that changes under a journal that is open is not read as data either.
func TestWhatTheDiskDoesNotGiveBackIsDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := journal(t, path)
	require.NoError(t, j.Put("a", []byte("value"), then))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	text[len(text)-1] ^= 1
	require.NoError(t, os.WriteFile(path, text, 0o600))
	_, err = j.Get("a")
	require.ErrorIs(t, err, disk.ErrDamaged)
}

// What is written over again and again takes little more than what is held, and nothing of it is lost on the way.
func TestAJournalThatIsMostlyOldIsWrittenAnew(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "journal")
	j := journal(t, path)
	require.NoError(t, j.Put("kept", []byte("since the start"), then))
	want := map[string]string{"kept": "since the start"}
	most := int64(0)
	for i := range 300 {
		name := fmt.Sprint(i % 3)
		want[name] = strings.Repeat(fmt.Sprint(i), 5000)
		require.NoError(t, j.Put(name, []byte(want[name]), then))
		require.NoError(t, j.Sync())
		info, err := os.Stat(path)
		require.NoError(t, err)
		most = max(most, info.Size())
	}
	require.Less(t, most, int64(512<<10))
	require.Equal(t, want, holds(t, j))
	require.NoError(t, j.Close())
	j = journal(t, path)
	require.Equal(t, want, holds(t, j))
	require.True(t, j.Names("kept")["kept"].Equal(then))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
}

// A file that was written anew is refused when it is damaged anywhere but in what says that it is whole.
func TestAFileWrittenAnewIsKnownToBeWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := journal(t, path)
	for i := range 100 {
		require.NoError(t, j.Put(fmt.Sprint("held ", i%2), bytes.Repeat([]byte{byte(i)}, 8<<10), then))
		require.NoError(t, j.Sync())
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		if len(text) > 20<<10 {
			continue // not yet
		}
		if i < 10 {
			continue
		}
		text[100] ^= 1
		require.NoError(t, os.WriteFile(path, text, 0o600))
		_, err = disk.OpenJournal(path)
		require.ErrorIs(t, err, disk.ErrDamaged)
		return
	}
	require.Fail(t, "it was never written anew")
}

// Whoever waits for the disk finds there what it put, however many wait at once, while the file is written anew too.
func TestManyWaitForTheDiskAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := journal(t, path)
	want := map[string]string{}
	var mu sync.Mutex
	var putting sync.WaitGroup
	for w := range 16 {
		putting.Go(func() {
			for i := range 40 {
				name, value := fmt.Sprint(w, " ", i%4), strings.Repeat(fmt.Sprint(w, i, " "), 200)
				if err := j.Put(name, []byte(value), then); err != nil {
					panic(err)
				}
				if err := j.Sync(); err != nil {
					panic(err)
				}
				mu.Lock()
				want[name] = value
				mu.Unlock()
			}
		})
	}
	putting.Wait()
	require.Equal(t, want, holds(t, j))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	copied := filepath.Join(t.TempDir(), "copied")
	require.NoError(t, os.WriteFile(copied, text, 0o600))
	require.Equal(t, want, holds(t, journal(t, copied)))
}

// While the disk is full a journal says so and holds what it held, half of nothing; then it goes on.
func TestAFullDiskTakesNothingFromAJournal(t *testing.T) {
	bustest.OnDisks(t, func(t *testing.T, full *bustest.Disk) {
		path := filepath.Join(full.Dir, "journal")
		j := journal(t, path)
		require.NoError(t, j.Put("a", []byte("before"), then))
		require.NoError(t, j.Sync())
		before, err := os.Stat(path)
		require.NoError(t, err)
		full.Fill()
		err = j.Put("a", bytes.Repeat([]byte("after"), 64<<10), then)
		require.ErrorContains(t, err, path)
		after, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, before.Size(), after.Size(), "what was begun takes no room")
		require.NoError(t, j.Sync())
		require.Equal(t, map[string]string{"a": "before"}, holds(t, j))
		full.Free()
		require.NoError(t, j.Put("b", []byte("after"), then))
		require.NoError(t, j.Close())
		require.Equal(t, map[string]string{"a": "before", "b": "after"}, holds(t, journal(t, path)))
	})
}
