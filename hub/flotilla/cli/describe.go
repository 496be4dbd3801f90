package cli

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
)

// describedEvents is how many of the newest events describe shows.
const describedEvents = 50

func (a objectCommands) describeCommand() *cobra.Command {
	s := &selection{}
	cmd := &cobra.Command{
		Use:   "describe TYPE NAME… | TYPE/NAME… | TYPE",
		Short: "Show an object in full, status and events included, for people",
		Example: `  flotilla describe placement web
  flotilla describe members -l region=eu
  flotilla describe node/node-7 -m berlin`,
		RunE: a.do(func(ctx context.Context, args []string) error { return a.describe(ctx, s, args) }),
	}
	a.namespaceFlag(cmd.Flags())
	a.memberFlag(cmd.Flags())
	cmd.Flags().StringVarP(&s.labels, "selector", "l", "", "only objects whose labels match")
	cmd.Flags().BoolVarP(&s.allNamespaces, "all-namespaces", "A", false, "objects of every namespace")
	return cmd
}

func (a objectCommands) describe(ctx context.Context, s *selection, args []string) error {
	s.pods = true
	t, err := a.parseTarget(args)
	if err != nil {
		return err
	}
	objects, missing, err := a.fetchTarget(ctx, t, *s)
	if err != nil {
		return err
	}
	if len(objects) == 0 && len(missing) == 0 {
		say(a.Err, "%s\n", nothingFound(t))
		return nil
	}
	for i, obj := range objects {
		if i > 0 {
			a.printf("\n\n")
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
	return joinErrors(ExitDifferent, missing)
}

func (a objectCommands) describeOne(ctx context.Context, obj *unstructured.Unstructured) error {
	switch obj.GetKind() {
	case api.KindMemberNode:
		return nodesCommands{Client: a.Client}.describeNode(ctx, obj)
	case api.KindNodeDisruption:
		return nodesCommands{Client: a.Client}.describeDisruption(obj)
	case api.KindClusterResourcePlacement, api.KindResourcePlacement:
		return placementCommands{Client: a.Client}.describePlacement(obj)
	}
	a.printf("%s", describeObject(obj))
	return nil
}

func (a objectCommands) describeEvents(ctx context.Context, obj *unstructured.Unstructured) error {
	var reply api.EventsResponse
	request := api.EventsRequest{Object: eventObject(obj), Limit: describedEvents}
	if err := a.call(ctx, api.VerbEvents, request, &reply); err != nil {
		return err
	}
	if len(reply.Events) == 0 {
		a.printf("Events:  <none>\n")
		return nil
	}
	a.printf("Events:\n")
	return a.printEventRows(foldEvents(reply.Events), "  ")
}

func (a objectCommands) nextAfterDescribe(obj *unstructured.Unstructured) {
	switch obj.GetKind() {
	case api.KindClusterResourcePlacement, api.KindResourcePlacement:
		a.next("flotilla why %s", refOf(obj))
	case api.KindMemberCluster:
		a.next("flotilla events --member %s", obj.GetName())
	case api.KindUpdateRun:
		a.next("flotilla run status %s", obj.GetName())
	case api.KindUpdateStrategy:
		a.next("flotilla run create --help")
	case api.KindAutoUpgradeProfile:
		a.next("flotilla run generate %s", obj.GetName())
	case api.KindMemberMaintenance:
		a.next("flotilla windows %s", obj.GetName())
	case api.KindMemberNode:
		a.next("flotilla plan nodes -m %s", memberOf(obj))
	case api.KindNodeDisruption:
		a.next("flotilla get disruptions -m %s", memberOf(obj))
	case api.KindNodePool:
		a.next("flotilla budgets %s", obj.GetName())
	case api.KindGate:
		run, _, _ := unstructured.NestedString(obj.Object, "spec", "target", "id")
		a.next("flotilla run approve %s --gate %s", run, obj.GetName())
	}
}

// eventObject is the name under which the audit stream keeps an object's events.
func eventObject(obj *unstructured.Unstructured) string {
	switch obj.GetKind() {
	case api.KindClusterResourcePlacement:
		return "placement/" + obj.GetName()
	case api.KindResourcePlacement:
		return "placement/" + obj.GetNamespace() + "/" + obj.GetName()
	case api.KindMemberCluster:
		return "member/" + obj.GetName()
	case api.KindMemberNode:
		return "node/" + memberOf(obj) + "/" + obj.GetName()
	case api.KindNodeDisruption:
		if nodes, _, _ := unstructured.NestedStringSlice(obj.Object, "status", "nodes"); len(nodes) > 0 {
			return "node/" + memberOf(obj) + "/" + nodes[0]
		}
	case api.KindNodePool:
		return "nodepool/" + obj.GetName()
	case api.KindInstanceCatalog:
		return "instances/" + obj.GetName()
	}
	if obj.GetAPIVersion() == api.VersionFlotilla {
		return shortWord(obj.GetKind()) + "/" + obj.GetName()
	}
	return "object/" + refOf(obj).object().String()
}
