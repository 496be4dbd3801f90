package selected

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// counting is a selector of labels that counts what it was asked.
type counting struct {
	labels.Selector
	asked *atomic.Int64
}

func (c counting) Matches(l labels.Labels) bool {
	c.asked.Add(1)
	return c.Selector.Matches(l)
}

// options are those of a watch with a selector of labels and of fields.
func options(t *testing.T, labelled, of string, asked *atomic.Int64) *metainternalversion.ListOptions {
	t.Helper()
	byLabels, err := labels.Parse(labelled)
	require.NoError(t, err)
	byFields, err := fields.ParseSelector(of)
	require.NoError(t, err)
	return &metainternalversion.ListOptions{LabelSelector: counting{byLabels, asked}, FieldSelector: byFields}
}

// seen is one of a name with an app.
func seen(name, app string) *Object {
	u := &unstructured.Unstructured{Object: map[string]any{"type": app, "metadata": map[string]any{"name": name}}}
	u.SetLabels(map[string]string{"app": app})
	return &Object{Digest: Digest([]byte(name + app + "                                ")), Name: name, Labels: u.GetLabels(), Whole: u}
}

// A change of an object is matched once for all watches of one selector, however many they are; another selector, or another state of the object,
// matches by itself (H49).
func TestAChangeIsMatchedOnceForAllWatchesOfASelector(t *testing.T) {
	t.Parallel()
	var all Shared
	var asked, others atomic.Int64
	var waiting sync.WaitGroup
	web, db := seen("a", "web"), seen("a", "db")
	_, end := all.Enter(options(t, "app in (web)", "type=web", &asked)) // one that is alone matches by itself
	defer end()
	for range 100 {
		s, leave := all.Enter(options(t, "app in (web)", "type=web", &asked))
		defer leave()
		waiting.Go(func() {
			for range 10 {
				require.True(t, s.Chooses(web))
				require.False(t, s.Chooses(db))
			}
		})
	}
	waiting.Wait()
	require.Equal(t, int64(2), asked.Load())
	s, leave := all.Enter(options(t, "app in (web)", "type=web", &asked))
	require.True(t, s.Chooses(web))
	leave()
	require.Equal(t, int64(2), asked.Load())
	for _, of := range []string{"type=web", "type=db"} {
		other, leave := all.Enter(options(t, "app", of, &others))
		require.Equal(t, of == "type=web", other.Chooses(web))
		leave()
	}
	require.Equal(t, int64(2), others.Load())
}

// What is not decoded is chosen if it may be, and matched again once it is (H49).
func TestWhatIsNotDecodedIsMatchedAgain(t *testing.T) {
	t.Parallel()
	var all Shared
	var asked atomic.Int64
	var last *Selector
	for range 2 {
		s, leave := all.Enter(options(t, "app", "metadata.name=a,type=db", &asked))
		defer leave()
		last = s
	}
	whole := seen("a", "web")
	lean := *whole
	lean.Whole = nil
	for range 2 {
		require.True(t, last.Chooses(&lean))
		require.False(t, last.Chooses(whole))
		require.False(t, last.Chooses(seen("b", "db")))
		require.True(t, last.Chooses(seen("a", "db")))
	}
}

// A selector that no watch has is kept no more, and one knows so many objects and no more (H49).
func TestWhatSelectorsKeepIsBounded(t *testing.T) {
	t.Parallel()
	var all Shared
	var asked atomic.Int64
	first, leave := all.Enter(options(t, "app", "", &asked))
	second, end := all.Enter(options(t, "app", "", &asked))
	require.Same(t, first, second)
	for i := range 3 * mostMatched {
		o := seen("a", "web")
		o.Digest[0], o.Digest[1] = byte(i), byte(i>>8)
		require.True(t, first.Chooses(o))
	}
	require.Len(t, first.matched, mostMatched)
	leave()
	require.Len(t, all.all, 1)
	end()
	require.Empty(t, all.all)
	_, leave = all.Enter(nil)
	defer leave()
	require.True(t, all.all["\n"].Chooses(seen("a", "web")))
}
