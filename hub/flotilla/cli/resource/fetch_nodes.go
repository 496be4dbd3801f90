package resource

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/hub/flotilla/cli/session"
)

// MemberFlag adds -m, which says on which member nodes are meant.
func (a *Client) MemberFlag(flags *pflag.FlagSet) {
	flags.StringVarP(&a.Member, "member", "m", "", "the member that nodes are of; without, all of them")
}

// OnMembers says that objects of a kind are of members, and kept by the hub under no name of their own.
func OnMembers(kind string) bool { return kind == api.KindMemberNode || kind == api.KindNodeDisruption }

// OwnedByMember refuses to change what the hub only reads.
func OwnedByMember(r Ref) error {
	switch r.Kind {
	case api.KindMemberNode:
		return session.Refusedf("nodes are their member's own: kubectl edit node %s on the member changes it", r.Name)
	case api.KindNodeDisruption:
		return session.Refusedf("%s is a decision of the hub and not edited; its NodePool says what is decided", r)
	}
	return nil
}

// page is one answer to a list of nodes or disruptions, objects undecoded.
type page struct {
	Items    []json.RawMessage `json:"items"`
	Continue string            `json:"continue"`
	Notes    []string          `json:"notes"`
}

// fetchOnMembers reads nodes or disruptions: all, or those of one name.
func (a *Client) fetchOnMembers(ctx context.Context, kind, name string, s Selection) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	next := ""
	for {
		var found page
		var err error
		if kind == api.KindMemberNode {
			request := api.NodesRequest{Member: a.Member, Node: name, LabelSelector: s.Labels, Continue: next, WithPods: s.Pods}
			err = a.Call(ctx, api.VerbNodes, request, &found)
		} else {
			request := api.DisruptionsRequest{Member: a.Member, ID: name, Continue: next}
			err = a.Call(ctx, api.VerbDisruptions, request, &found)
		}
		if err != nil {
			return nil, a.WithNearMember(ctx, err)
		}
		for _, text := range foldNotes(found.Notes) {
			a.NoteOnce(text)
		}
		for _, raw := range found.Items {
			obj, err := DecodeObject(raw)
			if err != nil {
				return nil, err
			}
			objects = append(objects, obj)
		}
		if next = found.Continue; next == "" {
			return objects, nil
		}
	}
}

// foldFrom is from how many members on that the same of all of them is said once.
const foldFrom = 3

// foldNotes says in one note what holds for several members: "member berlin: …" of each of them.
func foldNotes(notes []string) []string {
	members := map[string][]string{}
	for _, text := range notes {
		if member, what, found := ofMember(text); found {
			members[what] = append(members[what], member)
		}
	}
	var folded []string
	for _, text := range notes {
		_, what, found := ofMember(text)
		switch same := members[what]; {
		case !found || len(same) < foldFrom:
			folded = append(folded, text)
		case strings.HasPrefix(text, "member "+same[0]+": "):
			folded = append(folded, "members "+phrase.Names(same, foldFrom)+": "+what)
		}
	}
	return folded
}

// ofMember parts a note about a member, "member berlin: nothing is decided".
func ofMember(note string) (member, what string, found bool) {
	rest, found := strings.CutPrefix(note, "member ")
	if !found {
		return "", "", false
	}
	return strings.Cut(rest, ": ")
}

// NoteOnce says something that a watch would say again and again.
func (a *Client) NoteOnce(text string) {
	if a.Noted == nil {
		a.Noted = map[string]bool{}
	}
	if !a.Noted[text] {
		a.Noted[text] = true
		a.Note("%s", text)
	}
}

// FetchNamed reads the nodes or disruptions of a name: of several members when none is named.
func (a *Client) FetchNamed(ctx context.Context, r Ref, s Selection) ([]*unstructured.Unstructured, error) {
	objects, err := a.fetchOnMembers(ctx, r.Kind, r.Name, s)
	if err != nil || len(objects) > 0 {
		return objects, err
	}
	return nil, a.noSuchOnMember(ctx, r)
}

// fetchOne reads one node or disruption, and wants to know which when several members have one.
func (a *Client) fetchOne(ctx context.Context, r Ref, s Selection) (*unstructured.Unstructured, error) {
	objects, err := a.FetchNamed(ctx, r, s)
	if err != nil {
		return nil, err
	}
	if len(objects) > 1 {
		var members []string
		for _, obj := range objects {
			members = append(members, MemberOf(obj))
		}
		return nil, session.Usagef("%s is on %d members: say which with -m %s", r, len(objects), strings.Join(members, " or -m "))
	}
	return objects[0], nil
}

// MemberOf is the member that a node or disruption is of.
func MemberOf(obj *unstructured.Unstructured) string {
	member, _, _ := unstructured.NestedString(obj.Object, "spec", "member")
	return member
}

func (a *Client) noSuchOnMember(ctx context.Context, r Ref) error {
	if gone := a.whatBecameOf(ctx, r); gone != nil {
		return gone
	}
	var near []string
	if all, err := a.fetchOnMembers(ctx, r.Kind, "", Selection{}); err == nil {
		near = session.Nearest(r.Name, namesAmong(all))
	}
	where := "on any member"
	next := "flotilla get " + r.Plural
	if a.Member != "" {
		where = "on member " + a.Member
		next += " -m " + a.Member
	}
	return &api.Failure{
		Code: api.CodeNotFound, Next: next,
		Message: fmt.Sprintf("there is no %s %s %s%s", r.word(), r.Name, where, session.Meant(near)),
	}
}

// whatBecameOf is the failure that tells of a node that was there; nil when nothing is known of it.
func (a *Client) whatBecameOf(ctx context.Context, r Ref) error {
	if r.Kind != api.KindMemberNode || a.Member == "" {
		return nil
	}
	var reply api.EventsResponse
	request := api.EventsRequest{Object: "node/" + a.Member + "/" + r.Name, Limit: 1}
	if err := a.Call(ctx, api.VerbEvents, request, &reply); err != nil || len(reply.Events) == 0 {
		return nil
	}
	e := reply.Events[len(reply.Events)-1]
	return &api.Failure{
		Code: api.CodeNotFound, Next: fmt.Sprintf("flotilla events node/%s -m %s", r.Name, a.Member),
		Message: fmt.Sprintf("there is no node %s on member %s any more; %s ago: %s", r.Name, a.Member, session.Since(a.Now(), e.At.Time), e.Message),
	}
}

func namesAmong(objects []*unstructured.Unstructured) []string {
	var names []string
	for _, obj := range objects {
		names = append(names, obj.GetName())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// WithNearMember adds to an error about a missing member the names it may have been meant to be.
func (a *Client) WithNearMember(ctx context.Context, err error) error {
	if !session.IsNotFound(err) || a.Member == "" {
		return err
	}
	names := a.NamesOf(ctx, api.KindMemberCluster)
	if slices.Contains(names, a.Member) {
		return err
	}
	return &api.Failure{
		Code: api.CodeNotFound, Message: fmt.Sprintf("there is no member %q%s", a.Member, session.Meant(session.Nearest(a.Member, names))), Next: "flotilla get members",
	}
}

// HomeOf is the member of a node: that of -m, or the only one that has a node of the name.
func (a *Client) HomeOf(ctx context.Context, r Ref) (string, error) {
	if a.Member != "" {
		return a.Member, nil
	}
	obj, err := a.fetchOne(ctx, r, Selection{})
	if err != nil {
		return "", err
	}
	return MemberOf(obj), nil
}
