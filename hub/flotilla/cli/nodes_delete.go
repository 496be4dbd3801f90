package cli

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
)

// partNodes parts nodes from objects of the hub, which are deleted by another verb.
func partNodes(refs []ref) (nodes, objects []ref, err error) {
	for _, r := range refs {
		switch r.kind {
		case api.KindMemberNode:
			nodes = append(nodes, r)
		case api.KindNodeDisruption:
			return nil, nil, refusedf("%s is a decision of the hub and not deleted: annotate a node with %s: \"true\" on its member to keep it", r, api.AnnotationDoNotDisrupt)
		default:
			objects = append(objects, r)
		}
	}
	return nodes, objects, nil
}

// askNodeDeletion asks for the drain and deletion of nodes. It returns what is not gone yet, and what
// could not be asked for.
func (a *app) askNodeDeletion(ctx context.Context, o *deleteOptions, nodes []ref, dry bool) (asked []goal, failed []error, err error) {
	for _, r := range nodes {
		obj, err := a.fetch(ctx, r)
		if isNotFound(err) {
			if !o.ignoreGone {
				failed = append(failed, err)
			}
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		r.member = memberOf(obj)
		request := api.DeleteNodeRequest{Request: newRequestID(), Member: r.member, Node: r.name, DryRun: dry}
		var reply api.DeleteNodeResponse
		if err := a.call(ctx, api.VerbDeleteNode, request, &reply); err != nil {
			failed = append(failed, err)
			continue
		}
		a.sayNodeDeleting(o, r, &reply, dry)
		asked = append(asked, goal{r, string(obj.GetUID())})
	}
	return asked, failed, nil
}

// onNamedMember refuses to delete nodes of members that nobody named: another member may have one of the
// same name.
func (a *app) onNamedMember(ctx context.Context, nodes []ref) error {
	if len(nodes) == 0 || a.member != "" {
		return nil
	}
	f := usagef("nodes are deleted on a member that is named: -m MEMBER")
	if len(nodes) > 1 {
		f.Next = "flotilla get nodes"
		return f
	}
	found, err := a.fetchNamed(ctx, nodes[0], selection{})
	if err != nil {
		return err
	}
	verb := "delete node "
	if managed, _, _ := unstructured.NestedBool(found[0].Object, "status", "managed"); !managed {
		verb = "why node/" // it would be refused
	}
	f.Next = fmt.Sprintf("flotilla %s%s -m %s", verb, nodes[0].name, memberOf(found[0]))
	return f
}

func (a *app) sayNodeDeleting(o *deleteOptions, r ref, reply *api.DeleteNodeResponse, dry bool) {
	for _, text := range reply.Notes {
		a.note("%s: %s", r, text)
	}
	switch {
	case o.format == "name":
		a.printf("%s/%s\n", r.resource(), r.name)
	case dry:
		a.printf("node %q of member %s deleted, %s (server dry run)\n", r.name, r.member, drained(reply.Pods))
	case reply.Already:
		a.printf("node %q of member %s deleting already, %s\n", r.name, r.member, drained(reply.Pods))
	default:
		a.printf("node %q of member %s deleting, %s\n", r.name, r.member, drained(reply.Pods))
	}
}

// drained says how many pods go first.
func drained(pods int) string {
	switch pods {
	case 0:
		return "no pod to drain"
	case 1:
		return "1 pod to drain first"
	}
	return fmt.Sprintf("%d pods to drain first", pods)
}

// whyNotGone says what a node that is being deleted waits for.
func (a *app) whyNotGone(ctx context.Context, last *unstructured.Unstructured) string {
	id, _, _ := unstructured.NestedString(last.Object, "status", "disruption")
	if id == "" {
		return ""
	}
	objects, err := a.fetchOnMembers(ctx, api.KindNodeDisruption, id, selection{})
	if err != nil || len(objects) != 1 {
		return ""
	}
	v := view{object: objects[0]}
	text := "; disruption " + id + " is " + v.text("status", "phase")
	if message := v.text("status", "message"); message != "" {
		text += ": " + message
	}
	return text
}
