package cli

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"

	"flotilla/core/api"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// deletion says how deletions are told of.
type deletion struct {
	ignoreGone bool
	format     string // name: names alone
}

// askDeletion asks for deletions, many at once so that placements see one change. It returns what is
// not gone yet, and what could not be deleted.
func (a *Client) askDeletion(ctx context.Context, o *deletion, refs []ref, dry bool) (asked []goal, failed []error, err error) {
	for chunk := range slices.Chunk(refs, maxDeletions) {
		request := api.DeleteRequest{Request: rand.Text(), DryRun: dry}
		for _, r := range chunk {
			request.Objects = append(request.Objects, r.object())
		}
		var reply api.DeleteResponse
		if err := a.call(ctx, api.VerbDelete, request, &reply); err != nil {
			return nil, nil, err
		}
		for i := range reply.Results {
			result := &reply.Results[i]
			r := refTo(result.Object)
			a.sayDeleted(o, r, result, dry)
			if result.Action == api.ActionDeleting {
				asked = append(asked, goal{r, result.UID})
			}
		}
		for _, missing := range reply.Missing {
			if !o.ignoreGone {
				failed = append(failed, noSuchObject(refTo(missing)))
			}
		}
	}
	return asked, failed, nil
}

func (a *Client) sayDeleted(o *deletion, r ref, result *api.ApplyResult, dry bool) {
	for _, text := range result.Notes {
		a.note("%s: %s", r, text)
	}
	switch {
	case o.format == "name":
		a.printf("%s\n", shownName(result.Object))
	case dry:
		a.printf("%s %q deleted (server dry run)\n", r.resource(), r.name)
	case result.Action == api.ActionDeleting:
		a.printf("%s %q deleting\n", r.resource(), r.name)
	default:
		a.printf("%s %q deleted\n", r.resource(), r.name)
	}
}

// noSuchObject is what the hub says of one object that is missing.
func noSuchObject(r ref) *api.Failure {
	return &api.Failure{Code: api.CodeNotFound, Message: r.object().String() + ": no such object", Next: "flotilla get " + r.listing()}
}

// maxDeletions is how many objects one request may delete.
const maxDeletions = 500

// askNodeDeletion asks for the drain and deletion of nodes. It returns what is not gone yet, and what
// could not be asked for.
func (a *Client) askNodeDeletion(ctx context.Context, o *deletion, nodes []ref, dry bool) (asked []goal, failed []error, err error) {
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

func (a *Client) sayNodeDeleting(o *deletion, r ref, reply *api.DeleteNodeResponse, dry bool) {
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

// onNamedMember refuses to delete nodes of members that nobody named: another member may have one of the
// same name.
func (a *Client) onNamedMember(ctx context.Context, nodes []ref) error {
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
