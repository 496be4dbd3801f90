package resource

import (
	"context"
	"fmt"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/hub/flotilla/cli/session"
)

// askFor bounds the question who has not confirmed, once the time of the command is up.
const askFor = 5 * time.Second

// unconfirmed asks who has not confirmed that an object is gone.
func (a *Client) unconfirmed(ctx context.Context, r Ref, uid string) (*api.UnconfirmedResponse, error) {
	var reply api.UnconfirmedResponse
	err := a.Call(ctx, api.VerbUnconfirmed, api.UnconfirmedRequest{Object: r.Object(), UID: uid}, &reply)
	return &reply, err
}

// GoneWithout says of an object that is gone who has not confirmed it; nil when all have.
func (a *Client) GoneWithout(ctx context.Context, g Goal) error {
	if !g.IsPlacement() && g.Kind != api.KindMemberCluster {
		return nil
	}
	reply, err := a.unconfirmed(ctx, g.Ref, g.UID)
	if err != nil || len(reply.Members) == 0 {
		return err
	}
	failure := &session.Failure{
		Code: session.ExitPartial, Next: "flotilla get members",
		Message: fmt.Sprintf("%s is deleted, not confirmed by %s", g.Ref, UnconfirmedText(a.Now(), reply.Members)),
	}
	if g.Kind == api.KindMemberCluster {
		failure.Message = fmt.Sprintf("%s left the fleet, not confirmed by its agent (%s): what %s placed there stays",
			g.Ref, whyUnconfirmed(a.Now(), &reply.Members[0]), strings.Join(reply.Placements, ", "))
		failure.Next = "flotilla get placements"
	}
	return failure
}

// notConfirmed ends the sentence about a deletion that is waited for no longer.
func (a *Client) notConfirmed(ctx context.Context, r Ref, uid string) string {
	if !r.IsPlacement() && r.Kind != api.KindMemberCluster {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	reply, err := a.unconfirmed(ctx, r, uid)
	switch {
	case err != nil || len(reply.Members) == 0:
		return ""
	case r.Kind == api.KindMemberCluster:
		return fmt.Sprintf("; its agent (%s) has not given up %s", whyUnconfirmed(a.Now(), &reply.Members[0]), strings.Join(reply.Placements, ", "))
	}
	return "; not confirmed by " + UnconfirmedText(a.Now(), reply.Members)
}

// UnconfirmedText is "oslo (Unknown for 7m); withdrawn when it returns".
func UnconfirmedText(now time.Time, list []api.Withdrawal) string {
	var names []string
	away := true
	for i := range list {
		w := &list[i]
		away = away && w.State == api.MemberUnknown
		names = append(names, w.ClusterName+" ("+whyUnconfirmed(now, w)+")")
	}
	text := phrase.Names(names, 3)
	switch {
	case away && len(list) == 1:
		return text + "; withdrawn when it returns"
	case away:
		return text + "; withdrawn when they return"
	}
	return text + "; the hub goes on withdrawing it"
}

func whyUnconfirmed(now time.Time, w *api.Withdrawal) string {
	switch {
	case w.State == api.MemberUnknown:
		return "Unknown for " + session.Since(now, w.StateSince.Time)
	case w.Message != "":
		return w.Message
	case !w.LastSeen.IsZero():
		return "last heartbeat " + session.Since(now, w.LastSeen.Time) + " ago"
	case w.State != "":
		return string(w.State)
	}
	return "not heard of"
}
