package object

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/nodes"
	"flotilla/hub/flotilla/cli/placement"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
	"flotilla/hub/flotilla/cli/show"
)

// describedEvents is how many of the newest events describe shows.
const describedEvents = 50

func (a Commands) describeCommand() *cobra.Command {
	s := &resource.Selection{}
	cmd := &cobra.Command{
		Use:   "describe TYPE NAME… | TYPE/NAME… | TYPE",
		Short: "Show an object in full, status and events included, for people",
		Example: `  flotilla describe placement web
  flotilla describe members -l region=eu
  flotilla describe node/node-7 -m berlin`,
		RunE: a.Do(func(ctx context.Context, args []string) error { return a.describe(ctx, s, args) }),
	}
	a.NamespaceFlag(cmd.Flags())
	a.MemberFlag(cmd.Flags())
	cmd.Flags().StringVarP(&s.Labels, "selector", "l", "", "only objects whose labels match")
	cmd.Flags().BoolVarP(&s.AllNamespaces, "all-namespaces", "A", false, "objects of every namespace")
	return cmd
}

func (a Commands) describe(ctx context.Context, s *resource.Selection, args []string) error {
	s.Pods = true
	t, err := a.ParseTarget(args)
	if err != nil {
		return err
	}
	objects, missing, err := a.FetchTarget(ctx, t, *s)
	if err != nil {
		return err
	}
	if len(objects) == 0 && len(missing) == 0 {
		session.Say(a.Err, "%s\n", nothingFound(t))
		return nil
	}
	for i, obj := range objects {
		if i > 0 {
			a.Printf("\n\n")
		}
		if err := a.describeOne(ctx, obj); err != nil {
			return err
		}
		if err := a.describeEvents(ctx, obj); err != nil {
			return err
		}
	}
	if len(objects) == 1 {
		a.nextAfterDescribe(objects[0])
	}
	return resource.JoinErrors(session.ExitDifferent, missing)
}

func (a Commands) describeOne(ctx context.Context, obj *unstructured.Unstructured) error {
	switch obj.GetKind() {
	case api.KindMemberCluster:
		return a.describeMember(ctx, obj)
	case api.KindMemberNode:
		return nodes.Commands{Client: a.Client}.DescribeNode(ctx, obj)
	case api.KindNodeDisruption:
		return nodes.Commands{Client: a.Client}.DescribeDisruption(obj)
	case api.KindClusterResourcePlacement, api.KindResourcePlacement:
		return placement.Commands{Client: a.Client}.DescribePlacement(obj)
	}
	a.Printf("%s", show.DescribeObject(obj))
	return nil
}

func (a Commands) describeEvents(ctx context.Context, obj *unstructured.Unstructured) error {
	var reply api.EventsResponse
	request := api.EventsRequest{Object: eventObject(obj), Limit: describedEvents}
	if err := a.Call(ctx, api.VerbEvents, request, &reply); err != nil {
		return err
	}
	if len(reply.Events) == 0 {
		a.Printf("Events:  <none>\n")
		return nil
	}
	a.Printf("Events:\n")
	return a.printEventRows(foldEvents(reply.Events), "  ")
}

func (a Commands) nextAfterDescribe(obj *unstructured.Unstructured) {
	r := resource.RefOf(obj)
	switch {
	case r.Kind == api.KindGate:
		run, _, _ := unstructured.NestedString(obj.Object, "spec", "target", "id")
		a.Next("flotilla run approve %s --gate %s", run, r.Name)
	case r.Described != nil:
		a.Next("flotilla %s", r.Described(r))
	}
}

// eventObject is the name under which the audit stream keeps an object's events.
func eventObject(obj *unstructured.Unstructured) string {
	r := resource.RefOf(obj)
	switch nodes, _, _ := unstructured.NestedStringSlice(obj.Object, "status", "nodes"); {
	case r.Kind == api.KindNodeDisruption && len(nodes) > 0:
		return "node/" + resource.MemberOf(obj) + "/" + nodes[0]
	case r.Kind == api.KindMemberNode:
		return "node/" + resource.MemberOf(obj) + "/" + r.Name
	}
	return r.AuditName()
}
