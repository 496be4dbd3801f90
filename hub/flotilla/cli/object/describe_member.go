package object

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/session"
	"flotilla/hub/flotilla/cli/show"
)

// describeMember shows a member, what is placed on it, the runs that it is in, and who has a hold of it.
func (a Commands) describeMember(ctx context.Context, obj *unstructured.Unstructured) error {
	var on api.OnMember
	if err := a.Call(ctx, api.VerbMember, api.MemberRequest{Name: obj.GetName()}, &on); err != nil {
		return err
	}
	a.Printf("%s", show.DescribeObject(obj))
	if on.Lock != nil {
		a.Printf("Held By:  %s, %s\n", on.Lock.Holder, session.Since(a.Now(), on.Lock.Since.Time))
	}
	var rows [][]any
	for _, p := range on.Placements {
		rows = append(rows, []any{p.Placement, session.OrDash(p.Snapshot), p.State, session.Since(a.Now(), p.Since.Time), session.OrDash(p.Message)})
	}
	if err := a.section("Placements", []any{"Placement", "Snapshot", "State", "Since", "Message"}, rows); err != nil {
		return err
	}
	rows = nil
	for _, r := range on.Runs {
		rows = append(rows, []any{r.Run, r.Stage, r.State, session.Since(a.Now(), r.Since.Time), session.OrDash(r.Message)})
	}
	if err := a.section("Runs", []any{"Run", "Stage", "State", "Since", "Message"}, rows); err != nil {
		return err
	}
	rows = nil
	for _, e := range on.Evictions {
		rows = append(rows, []any{e.Name, e.Placement, e.State, session.Since(a.Now(), e.Created.Time), session.OrDash(e.Message)})
	}
	return a.section("Evictions", []any{"Eviction", "Placement", "State", "Age", "Message"}, rows)
}

// section writes rows of five cells below a head; nothing without rows.
func (a Commands) section(name string, head []any, rows [][]any) error {
	if len(rows) == 0 {
		return nil
	}
	a.Printf("%s:\n", name)
	w := a.Columns(2)
	for _, row := range append([][]any{head}, rows...) {
		session.Say(w, "  %v\t%v\t%v\t%v\t%v\n", row...)
	}
	return w.Flush()
}
