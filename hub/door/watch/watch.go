// Package watch has people wait for changes of what they look at: it answers when any of the topics of the kinds they named
// changed, and bounds how many wait. Package door serves it.
package watch

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"flotilla/bus"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/validate"
	"flotilla/hub/door/records"
	"flotilla/hub/door/show"
	"flotilla/subjects"
)

// Bounds of a watch.
const (
	defaultWatch     = 5 * time.Second
	longestWatch     = 30 * time.Second
	mostWatchedKinds = 32
	// leastWatch is how long a wait is that is one: who asks for less is answered at once, however many wait.
	leastWatch = time.Millisecond
)

// Topics beside those of records.
const (
	topicResults = "results" // of members
	topicNodes   = "nodes"   // of members, and what is decided about them
	topicEvents  = "events"
)

// Watch tells people of changes.
type Watch struct {
	store *store.Store
	news  *news
}

// New returns a watch over a store, of which r are the tables. OnNodes registers what is called when anything about nodes of members may have changed;
// nil: nobody knows.
func New(store *store.Store, r *records.Tables, onNodes func(func())) *Watch {
	w := &Watch{store: store, news: newNews()}
	store.State.OnChange(func(key string) { w.news.tell(topicsOf(key)...) })
	store.Results.OnChange(func(string) { w.news.tell(topicResults) })
	newContents(store, r, w.news.tell)
	store.Audit.OnStored(func() { w.news.tell(topicEvents) })
	if onNodes != nil {
		onNodes(func() { w.news.tell(topicNodes) })
	}
	return w
}

// End sends everybody away who waits.
func (w *Watch) End() { w.news.end() }

// topicsOf are those that a record concerns: its family or, of content, its kind in its group, and in any.
func topicsOf(key string) []string {
	if name, is := subjects.ObjectSpecs.Name(key); is {
		group, rest, _ := strings.Cut(name, "|")
		kind, _, _ := strings.Cut(rest, "|")
		return topicsOfContent(group, kind)
	}
	family, rest, _ := strings.Cut(key, ".")
	if family == "spec" {
		kind, _, _ := strings.Cut(rest, ".")
		family += "." + kind
	}
	return []string{family + "."}
}

// topicsOfContent are those of content of a kind.
func topicsOfContent(group, kind string) []string {
	return []string{objectTopic(group, kind), kindTopic(kind)}
}

func objectTopic(group, kind string) string { return "object " + group + "|" + kind }

// kindTopic is that of a kind in any group, which no group that somebody names makes of an objectTopic.
func kindTopic(kind string) string { return "objects " + kind }

// topicsOfKind are those that may change how objects of a kind are shown.
func topicsOfKind(k api.WatchedKind) []string {
	var families []subjects.Family
	var more []string
	switch named, is := records.Kinds[k.Kind]; {
	case k.APIVersion != "" && !validate.Known(k.APIVersion, k.Kind) && !shownKind(k):
		return []string{objectTopic(content.GroupOf(k.APIVersion), k.Kind)}
	case k.Kind == api.KindMemberCluster:
		families = []subjects.Family{subjects.MemberSpecs, subjects.Members, subjects.Releases, subjects.Identities}
	case k.Kind == api.KindClusterResourcePlacement, k.Kind == api.KindResourcePlacement:
		families = []subjects.Family{
			subjects.PlacementSpecs, subjects.Snapshots, subjects.Schedules, subjects.Releases, subjects.Statuses, subjects.Members,
		}
		more = []string{topicResults}
	case k.Kind == api.KindGate, records.OurRequest(api.ObjectRef{APIVersion: k.APIVersion, Kind: k.Kind}):
		families = []subjects.Family{subjects.RunSpecs, subjects.Runs}
	case shownKind(k):
		families = []subjects.Family{subjects.Disruptions, subjects.Locks}
		more = []string{topicNodes, topicResults}
	case is:
		families = []subjects.Family{named.Family, subjects.Runs, subjects.Profiles, subjects.Pools}
		if k.Kind == api.KindNodePool {
			more = []string{topicNodes}
		}
	default:
		return []string{kindTopic(k.Kind)}
	}
	for _, family := range families {
		more = append(more, family.Prefix())
	}
	return more
}

// shownKind says that objects of a kind are shown and nowhere stored as such.
func shownKind(k api.WatchedKind) bool {
	return (k.Kind == api.KindMemberNode || k.Kind == api.KindNodeDisruption) &&
		(k.APIVersion == "" || content.GroupOf(k.APIVersion) == api.GroupFlotilla)
}

// Answer answers when what is watched has changed, or when its time is up.
func (w *Watch) Answer(ctx context.Context, request *api.WatchRequest) (any, error) {
	topics, err := w.watched(request)
	if err != nil {
		return nil, err
	}
	after, known := w.parseMark(request.After)
	if !known {
		now, _ := w.news.since(nil, 0)
		return &api.WatchResponse{Mark: w.mark(now), Changed: true}, nil
	}
	patience := request.Wait.Duration
	if patience <= 0 {
		patience = defaultWatch
	}
	if now, changed := w.news.since(topics, after); changed || patience < leastWatch {
		return &api.WatchResponse{Mark: w.mark(now), Changed: changed}, nil
	}
	bus.Aside(ctx)
	ctx, cancel := context.WithTimeout(ctx, min(patience, longestWatch))
	defer cancel()
	now, changed, err := w.news.wait(ctx, request.By, topics, after)
	if err != nil {
		return nil, err
	}
	return &api.WatchResponse{Mark: w.mark(now), Changed: changed}, nil
}

// watched are the topics that a person asks for, and may ask for, all of them or none.
func (w *Watch) watched(request *api.WatchRequest) ([]string, error) {
	if n := len(request.Kinds); n > mostWatchedKinds || n == 0 && !request.Events {
		return nil, &api.Failure{Code: api.CodeInvalid, Message: fmt.Sprintf("kinds: found %d, expected 1 to %d, or events", n, mostWatchedKinds)}
	}
	var topics []string
	for _, k := range request.Kinds {
		if err := show.Unseen(request.By, k.APIVersion, k.Kind); err != nil {
			return nil, err
		}
		topics = append(topics, topicsOfKind(k)...)
	}
	if request.Events {
		topics = append(topics, topicEvents)
	}
	slices.Sort(topics)
	return slices.Compact(topics), nil
}

// mark names a count within this term: another hub counts anew.
func (w *Watch) mark(count uint64) string {
	return fmt.Sprintf("%d.%d.%d", w.store.Term.Epoch, w.store.Term.Term, count)
}

// parseMark reads a mark of this term.
func (w *Watch) parseMark(text string) (count uint64, known bool) {
	digits, known := strings.CutPrefix(text, strings.TrimSuffix(w.mark(0), "0"))
	if !known {
		return 0, false
	}
	count, err := strconv.ParseUint(digits, 10, 64)
	now, _ := w.news.since(nil, 0)
	return count, err == nil && count <= now
}
