package page

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/deed"
	"flotilla/core/overview"
	"flotilla/core/phrase"
	"flotilla/core/picture"
	"flotilla/core/plan"
	"flotilla/core/stage"
)

// runScreen says how far one run is, what it waits for and when it will be done.
var runScreen = &screen{Home: "/runs", patterns: []string{"/runs/{name}", "/runs/{namespace}/{name}"}, draw: drawRun}

// runView is one run as its screen shows it.
type runView struct {
	overview.RunAhead
	// Status is nil before the hub has created the run; then Why may say why not.
	Status *api.UpdateRunStatus
	Why    string
	Told   aside[foretold]
	// Ahead is what will keep it from ending, empty where it ends, or where nobody knows.
	Ahead string
	// Next is the command that brings the run on.
	Next   string
	Rows   []picture.RunMember
	Gates  []picture.RunGate
	Course picture.Course
}

func drawRun(v *visit) (*drawing, error) {
	r, err := readRun(v)
	if err != nil {
		return nil, err
	}
	d := &drawing{Title: "Run " + r.Key, Parts: []part{{"run", "run", r}}}
	if r.Status == nil {
		return d, nil
	}
	found := picture.FindRunMembers(r.Rows, v.query("group"), v.query("waits"), v.query("state"))
	rows, span := windowOf(v, found, memberWindow)
	d.Parts = append(d.Parts,
		part{"lanes", "lanes", r.Course.Chart(r.Key)},
		part{"waits", "waits", r},
		part{"gates", "gates", r},
		part{"members", "members-of-run", map[string]any{"Run": r, "Members": rows, "Shown": span, "Groups": picture.Places(r.Status), "States": overview.RunStates()}},
		part{"errors", "run-errors", r},
		part{"strategy", "strategy", stage.StrategyText(r.Status)},
	)
	key, course := r.Key, r.Course
	d.Table, d.Picture = made(func() *overview.Table { return picture.RunMemberTable(key, found, &course) }), "lanes"
	return d, nil
}

// readRun reads a run of either kind.
func readRun(v *visit) (*runView, error) {
	r := &runView{}
	r.Key = api.Keyed(v.path("namespace"), v.path("name"))
	if row := v.fleet.Run(r.Key); row != nil {
		r.Run = *row
	}
	var run api.UpdateRun
	if err := v.ask(api.VerbGet, deed.RunRef(r.Key), &run); err != nil {
		return nil, err
	}
	if run.Status == nil || len(run.Status.Stages) == 0 {
		if run.Status != nil && run.Status.Status.Error != nil {
			r.Why = run.Status.Status.Error.Message
		}
		return r, nil
	}
	r.fill(v, &run)
	return r, nil
}

// fill tells of a run that was created.
func (r *runView) fill(v *visit, run *api.UpdateRun) {
	r.Status = run.Status
	var told *plan.Run
	if r.State = run.Status.Status.State; r.GoesOn() {
		r.Told = v.page.foresight.of(v.ctx, r.Key)
		foretold := r.Told.Value[r.Key]
		if told = foretold.Run; told != nil && told.ExpectedEnd == nil {
			r.Ahead = phrase.Names(foretold.waits, 1)
		}
	}
	meta := metav1.ObjectMeta{Name: run.Name, Namespace: run.Namespace, CreationTimestamp: run.CreationTimestamp}
	row := overview.RunOf(cmp.Or(r.Kind, run.Kind), &meta, plan.UpgradeText(&run.Spec.Upgrade), r.Status)
	r.RunAhead = row.Ahead(told)
	r.Next = stage.Next(r.Status)
	r.Rows, r.Gates = picture.RunMembers(r.Status, v.fleet.Members), picture.RunGates(r.Status)
	r.Course = picture.CourseOf(r.Status, told, r.windows(v, picture.WindowsFor(run)), v.now())
}

// windows are those of the members of a run that has not ended, none while no windows count, or nobody knows them.
func (r *runView) windows(v *visit, kind string) []picture.MemberWindows {
	if kind == "" || r.State.Terminal() {
		return nil
	}
	known := v.page.windows.of(v.ctx, "")
	if known.Value == nil {
		return nil
	}
	names := make([]string, len(r.Rows))
	for i := range r.Rows {
		names[i] = r.Rows[i].Name
	}
	return known.Value.Windows(names, kind, v.now(), v.now().AddDate(0, 0, usualDays))
}

// Object names the run as actions do.
func (r *runView) Object() string { return api.AuditObject(api.AuditRun, r.Key) }
