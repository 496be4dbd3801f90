package resource

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/session"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Deletion says how deletions are told of.
type Deletion struct {
	IgnoreGone bool
	Format     string // name: names alone
	// Yes says that much may go.
	Yes bool
}

// AskDeletion asks for deletions, many at once so that placements see one change. It returns what is
// not gone yet, and what could not be deleted.
func (a *Client) AskDeletion(ctx context.Context, o *Deletion, refs []Ref, dry bool) (asked []Goal, failed []error, err error) {
	for chunk := range slices.Chunk(refs, maxDeletions) {
		request := api.DeleteRequest{Request: rand.Text(), DryRun: dry, Yes: o.Yes}
		for _, r := range chunk {
			request.Objects = append(request.Objects, r.Object())
		}
		var reply api.DeleteResponse
		if err := a.askDeletion(ctx, request, &reply); err != nil {
			return nil, nil, err
		}
		for i := range reply.Results {
			result := &reply.Results[i]
			r := RefTo(result.Object)
			a.sayDeleted(o, r, result, dry)
			if result.Action == api.ActionDeleting {
				asked = append(asked, Goal{r, result.UID})
			}
		}
		for _, missing := range reply.Missing {
			if !o.IgnoreGone {
				failed = append(failed, noSuchObject(RefTo(missing)))
			}
		}
	}
	return asked, failed, nil
}

// askDeletion asks for one deletion. Where it would take away much the hub refuses it; on a terminal a person is asked.
func (a *Client) askDeletion(ctx context.Context, request api.DeleteRequest, reply *api.DeleteResponse) error {
	err := a.Call(ctx, api.VerbDelete, request, reply)
	refused, ok := errors.AsType[*api.Failure](err)
	if !ok || refused.Code != api.CodeLimit || request.Yes || request.DryRun || !a.Asks() {
		return err
	}
	if !a.Consents(refused.Message + ". Delete all the same?") {
		return err
	}
	request.Request, request.Yes = rand.Text(), true
	return a.Call(ctx, api.VerbDelete, request, reply)
}

func (a *Client) sayDeleted(o *Deletion, r Ref, result *api.ApplyResult, dry bool) {
	for _, text := range result.Notes {
		a.Note("%s: %s", r, text)
	}
	switch {
	case o.Format == "name":
		a.Printf("%s\n", ShownName(result.Object))
	case dry:
		a.Printf("%s %q deleted (server dry run)\n", r.Resource(), r.Name)
	case result.Action == api.ActionDeleting:
		a.Printf("%s %q deleting\n", r.Resource(), r.Name)
	default:
		a.Printf("%s %q deleted\n", r.Resource(), r.Name)
	}
}

// noSuchObject is what the hub says of one object that is missing.
func noSuchObject(r Ref) *api.Failure {
	return &api.Failure{Code: api.CodeNotFound, Message: r.Object().String() + ": no such object", Next: "flotilla get " + r.Listing()}
}

// maxDeletions is how many objects one request may delete.
const maxDeletions = 500

// AskNodeDeletion asks for the drain and deletion of nodes. It returns what is not gone yet, and what
// could not be asked for.
func (a *Client) AskNodeDeletion(ctx context.Context, o *Deletion, nodes []Ref, dry bool) (asked []Goal, failed []error, err error) {
	for _, r := range nodes {
		obj, err := a.Fetch(ctx, r)
		if session.IsNotFound(err) {
			if !o.IgnoreGone {
				failed = append(failed, err)
			}
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		r.member = MemberOf(obj)
		request := api.DeleteNodeRequest{Request: NewRequestID(), Member: r.member, Node: r.Name, DryRun: dry}
		var reply api.DeleteNodeResponse
		if err := a.Call(ctx, api.VerbDeleteNode, request, &reply); err != nil {
			failed = append(failed, err)
			continue
		}
		a.sayNodeDeleting(o, r, &reply, dry)
		asked = append(asked, Goal{r, string(obj.GetUID())})
	}
	return asked, failed, nil
}

func (a *Client) sayNodeDeleting(o *Deletion, r Ref, reply *api.DeleteNodeResponse, dry bool) {
	for _, text := range reply.Notes {
		a.Note("%s: %s", r, text)
	}
	switch {
	case o.Format == "name":
		a.Printf("%s/%s\n", r.Resource(), r.Name)
	case dry:
		a.Printf("node %q of member %s deleted, %s (server dry run)\n", r.Name, r.member, drained(reply.Pods))
	case reply.Already:
		a.Printf("node %q of member %s deleting already, %s\n", r.Name, r.member, drained(reply.Pods))
	default:
		a.Printf("node %q of member %s deleting, %s\n", r.Name, r.member, drained(reply.Pods))
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

// PartNodes parts nodes from objects of the hub, which are deleted by another verb.
func PartNodes(refs []Ref) (nodes, objects []Ref, err error) {
	for _, r := range refs {
		switch r.Kind {
		case api.KindMemberNode:
			nodes = append(nodes, r)
		case api.KindNodeDisruption:
			return nil, nil, session.Refusedf("%s is a decision of the hub and not deleted: annotate a node with %s: \"true\" on its member to keep it", r, api.AnnotationDoNotDisrupt)
		default:
			objects = append(objects, r)
		}
	}
	return nodes, objects, nil
}

// OnNamedMember refuses to delete nodes of members that nobody named: another member may have one of the
// same name.
func (a *Client) OnNamedMember(ctx context.Context, nodes []Ref) error {
	if len(nodes) == 0 || a.Member != "" {
		return nil
	}
	f := session.Usagef("nodes are deleted on a member that is named: -m MEMBER")
	if len(nodes) > 1 {
		f.Next = "flotilla get nodes"
		return f
	}
	found, err := a.FetchNamed(ctx, nodes[0], Selection{})
	if err != nil {
		return err
	}
	verb := "delete node "
	if managed, _, _ := unstructured.NestedBool(found[0].Object, "status", "managed"); !managed {
		verb = "why node/" // it would be refused
	}
	f.Next = fmt.Sprintf("flotilla %s%s -m %s", verb, nodes[0].Name, MemberOf(found[0]))
	return f
}
