package object

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

type eventsOptions struct {
	member string
	by     string
	limit  int
	watch  bool
	format string
}

func (a Commands) eventsCommand() *cobra.Command {
	o := &eventsOptions{}
	cmd := &cobra.Command{
		Use:   "events [TYPE/NAME]",
		Short: "Show what happened, oldest first: to an object, on a member, or in the whole fleet",
		Long: `Show what happened, oldest first: to an object, on a member, or in the whole fleet.

The hub looks at a part of the history at a time: it is asked for older parts until there are as many events as
--limit says, or no older ones are kept. For few events of somebody in a long history that takes a while; Ctrl-C ends it.
Events are kept for 90 days, or 1 GiB of them; what people did is kept for a year, or 512 MiB.`,
		Example: `  flotilla events
  flotilla events placement/web -w
  flotilla events node/berlin/node-7
  flotilla events fleet/state
  flotilla events --member berlin --limit 20
  flotilla events --by anna`,
		RunE: a.Do(func(ctx context.Context, args []string) error { return a.events(ctx, o, args) }),
	}
	a.NamespaceFlag(cmd.Flags())
	cmd.Flags().StringVarP(&o.member, "member", "m", "", "only events that concern this member; with a node, the member it is of")
	cmd.Flags().StringVar(&o.by, "by", "", "only what this person, or part of the hub, did")
	cmd.Flags().IntVar(&o.limit, "limit", 200, "the newest so many")
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "go on showing events as they happen")
	cmd.Flags().StringVarP(&o.format, "output", "o", "", "json: one event a line")
	return cmd
}

func (a Commands) events(ctx context.Context, o *eventsOptions, args []string) error {
	if err := a.Format(o.format, "json"); err != nil {
		return err
	}
	if o.limit < 1 {
		return session.Usagef("--limit: found %d, expected 1 or more", o.limit)
	}
	request := api.EventsRequest{Member: o.member, Limit: o.limit, By: o.by}
	if err := a.eventsAbout(ctx, o, args, &request); err != nil {
		return err
	}
	ask := func(request *api.EventsRequest) (*api.EventsResponse, error) {
		var page api.EventsResponse
		return &page, a.Call(ctx, api.VerbEvents, request, &page)
	}
	if o.watch {
		return session.StoppedOr(ctx, a.watchEvents(ctx, o, request, ask))
	}
	found, err := request.All(ask)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return a.noEvents(ctx, o, args)
	}
	return a.printEvents(o, found)
}

// watchEvents shows the events that are asked for, and after each change those of the newest page that are not shown yet.
func (a Commands) watchEvents(ctx context.Context, o *eventsOptions, request api.EventsRequest, ask func(*api.EventsRequest) (*api.EventsResponse, error)) error {
	news, err := a.Watching(ctx, api.WatchRequest{Events: true})
	if err != nil {
		return err
	}
	shown, err := request.All(ask)
	if err != nil {
		return err
	}
	fresh := shown
	for {
		if err := a.printEvents(o, fresh); err != nil {
			return err
		}
		if more, err := news.Next(ctx); !more || err != nil {
			return err
		}
		page, err := ask(&request)
		if err != nil {
			return err
		}
		fresh, shown = newEvents(shown, page.Events), page.Events
	}
}

// eventsAbout asks for events of what the arguments name.
func (a Commands) eventsAbout(ctx context.Context, o *eventsOptions, args []string, request *api.EventsRequest) error {
	if len(args) == 0 {
		return nil
	}
	if isPlain(args) {
		request.Object = args[0]
		return nil
	}
	r, err := resource.OneRef(args, a.Namespace)
	if err != nil {
		return err
	}
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	if resource.OnMembers(r.Kind) {
		a.Member = o.member
		if err := a.TakeMember(r); err != nil {
			return err
		}
		if obj, err = a.eventsOf(ctx, r); err != nil {
			return err
		}
	}
	obj.SetAPIVersion(r.APIVersion)
	obj.SetKind(r.Kind)
	obj.SetNamespace(r.Namespace)
	obj.SetName(r.Name)
	request.Object = eventObject(obj)
	return nil
}

// isPlain says that the argument is TYPE/NAME of what events are told of though it is no object.
func isPlain(args []string) bool {
	if len(args) != 1 {
		return false
	}
	kind, name, _ := strings.Cut(args[0], "/")
	return name != "" && slices.Contains([]string{"fleet", "stream", "user", "notification"}, kind)
}

// eventsOf is the node or disruption that events are asked of. A node may be gone: its events are not.
func (a Commands) eventsOf(ctx context.Context, r resource.Ref) (*unstructured.Unstructured, error) {
	obj, err := a.Fetch(ctx, r)
	if session.IsNotFound(err) && r.Kind == api.KindMemberNode && a.Member != "" {
		gone := map[string]any{"spec": map[string]any{"member": a.Member}}
		return &unstructured.Unstructured{Object: gone}, nil
	}
	return obj, err
}

// noEvents tells an object to which nothing happened from one that is not there.
func (a Commands) noEvents(ctx context.Context, o *eventsOptions, args []string) error {
	if len(args) > 0 && o.member == "" && !isPlain(args) {
		r, err := resource.OneRef(args, a.Namespace)
		if err != nil {
			return err
		}
		if _, err := a.Fetch(ctx, r); err != nil {
			return err
		}
	}
	session.Say(a.Err, "no events found\n")
	return nil
}

// typed is the object of an event the way it is typed: "deployment/web -n shop".
func typed(object string) string {
	parts := strings.Split(object, "/")
	switch {
	case parts[0] == "object" && len(parts) == 4:
		return resource.ShortWord(parts[1]) + "/" + parts[3] + " -n " + parts[2]
	case parts[0] == "object" && len(parts) == 3:
		return resource.ShortWord(parts[1]) + "/" + parts[2]
	case parts[0] == "node" && len(parts) == 3:
		return "node/" + parts[2] + " -m " + parts[1]
	case parts[0] == "placement" && len(parts) == 3:
		return "rp/" + parts[2] + " -n " + parts[1]
	}
	return object
}

// newEvents returns the events of now that last did not hold.
func newEvents(last, now []api.Audit) []api.Audit {
	var fresh []api.Audit
	for _, e := range now {
		if !slices.ContainsFunc(last, func(known api.Audit) bool { return reflect.DeepEqual(known, e) }) {
			fresh = append(fresh, e)
		}
	}
	return fresh
}

func (a Commands) printEvents(o *eventsOptions, events []api.Audit) error {
	if o.format == "json" {
		for i := range events {
			if err := session.PrintJSONLine(a.Out, events[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if len(events) == 0 {
		return nil
	}
	w := a.Columns(2)
	session.Say(w, "AGE\tTYPE\tREASON\tOBJECT\tMEMBER\tMESSAGE\n")
	for _, e := range events {
		session.Say(w, "%s\t%s\t%s\t%s\t%s\t%s\n", session.Since(a.Now(), e.At.Time), e.Type, e.Reason, typed(e.Object), session.OrDash(e.Member), e.Message)
	}
	return w.Flush()
}

// foldedEvent is one event with how often it was seen, as kubectl describe shows it.
type foldedEvent struct {
	api.Audit
	first time.Time
	times int
}

// foldEvents puts repeats of an event into one, the newest last.
func foldEvents(events []api.Audit) []foldedEvent {
	var folded []foldedEvent
	for _, e := range events {
		i := slices.IndexFunc(folded, func(f foldedEvent) bool {
			return f.Type == e.Type && f.Reason == e.Reason && f.By == e.By && f.Message == e.Message
		})
		if i < 0 {
			folded = append(folded, foldedEvent{Audit: e, first: e.At.Time, times: 1})
			continue
		}
		repeated := folded[i]
		repeated.At = e.At
		repeated.times++
		folded = append(slices.Delete(folded, i, i+1), repeated)
	}
	return folded
}

func (a Commands) printEventRows(events []foldedEvent, indent string) error {
	w := a.Columns(2)
	session.Say(w, "%sType\tReason\tAge\tFrom\tMessage\n", indent)
	session.Say(w, "%s----\t------\t---\t----\t-------\n", indent)
	for _, e := range events {
		age := session.Since(a.Now(), e.At.Time)
		if e.times > 1 {
			age = fmt.Sprintf("%s (x%d over %s)", age, e.times, session.Since(a.Now(), e.first))
		}
		session.Say(w, "%s%s\t%s\t%s\t%s\t%s\n", indent, e.Type, e.Reason, age, e.By, e.Message)
	}
	return w.Flush()
}
