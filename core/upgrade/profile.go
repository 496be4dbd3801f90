package upgrade

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/version"
)

// ReconcileEvery is how often a profile is looked at without any cause.
const ReconcileEvery = time.Hour

// RunHead is what a profile needs to know of a run.
type RunHead struct {
	Name      string
	Profile   string // that made it
	State     api.UpdateState
	BlockedBy string
	Images    []string // that it lists
}

// HeadOf is the head of a run; status is nil for one that has none yet.
func HeadOf(run *api.UpdateRun, status *api.UpdateRunStatus) RunHead {
	head := RunHead{Name: run.Name, Profile: run.Spec.AutoUpgradeProfile, State: api.StateNotStarted}
	if status != nil {
		head.State, head.BlockedBy = status.Status.State, status.BlockedBy
	}
	if s := run.Spec.Upgrade.NodeImageSelection; s != nil {
		for _, image := range s.CustomNodeImageVersions {
			head.Images = append(head.Images, image.Version)
		}
	}
	return head
}

// ProfileInput is everything about one auto-upgrade profile at an instant. Strategy is the one it
// names, nil when it names none or when that is gone. Runs are all runs of the fleet.
type ProfileInput struct {
	Profile  *api.AutoUpgradeProfile
	Strategy *api.UpdateStrategy
	Status   *api.AutoUpgradeProfileStatus
	Runs     []RunHead
	View     View
	Now      time.Time
}

// NewRun is a run to create, whole.
type NewRun struct {
	Run    api.UpdateRun
	Status api.UpdateRunStatus
}

// ProfileDecision is what should happen about a profile, in this order: Remove runs that waited in
// vain, Stop active ones, Create one, Start one.
type ProfileDecision struct {
	Remove  []string
	Stop    []string
	Create  *NewRun
	Start   string
	Status  api.AutoUpgradeProfileStatus
	Changed bool // Status differs from what came in
	Recheck time.Time
}

// Reconcile decides about a profile: when its channel stands for versions that a member could be moved
// to and no run of that name exists, one is made and started.
func Reconcile(in ProfileInput) ProfileDecision {
	p := newProfiler(&in)
	if !in.Profile.Spec.Disabled {
		p.reconcile()
	}
	p.out.Recheck = in.Now.Add(ReconcileEvery)
	return p.out
}

// GenerateRun makes the run a profile stands for now, without starting it. When a run of that name
// exists, its name is returned and nothing is made.
func GenerateRun(in ProfileInput) (name string, made *NewRun, refusal *api.Refusal) {
	p := newProfiler(&in)
	if refusal := p.aim(); refusal != nil {
		return "", nil, refusal
	}
	if _, exists := p.find(p.name); exists {
		return p.name, nil, nil
	}
	made, refusal = p.make("")
	return p.name, made, refusal
}

// profiler works on one profile.
type profiler struct {
	in       *ProfileInput
	out      ProfileDecision
	upgrade  api.Upgrade
	versions []string
	name     string
}

func newProfiler(in *ProfileInput) *profiler {
	p := &profiler{in: in}
	p.out.Status = api.AutoUpgradeProfileStatus{
		Header: api.NewHeader(api.KindProfileStatus), Profile: in.Profile.Name, UID: string(in.Profile.UID),
	}
	if in.Status != nil {
		p.out.Status = *in.Status
	}
	return p
}

// triggered notes the outcome of an attempt to make a run, once per outcome, and every run that is made.
func (p *profiler) triggered(status, message string, refusal *api.Refusal) {
	next := p.out.Status
	next.LastTriggerStatus, next.LastTriggerMessage, next.LastTriggerError = status, message, nil
	next.LastTriggerUpgradeVersions = p.versions
	if refusal != nil {
		next.LastTriggerError = &api.UpdateError{Code: refusal.Code, Message: refusal.Error()}
	}
	if p.out.Create == nil && sameTrigger(&p.out.Status, &next) {
		return
	}
	next.LastTriggeredAt = metav1.NewTime(p.in.Now.UTC().Truncate(time.Second))
	p.out.Status, p.out.Changed = next, true
}

// noteExisting notes that the run is there, unless making it was what was noted last.
func (p *profiler) noteExisting() {
	if last := &p.out.Status; last.LastTriggerStatus != api.TriggerSucceeded || !slices.Equal(last.LastTriggerUpgradeVersions, p.versions) {
		p.triggered(api.TriggerSucceeded, "run "+p.name+" exists", nil)
	}
}

func sameTrigger(a, b *api.AutoUpgradeProfileStatus) bool {
	return a.LastTriggerStatus == b.LastTriggerStatus && a.LastTriggerMessage == b.LastTriggerMessage &&
		slices.Equal(a.LastTriggerUpgradeVersions, b.LastTriggerUpgradeVersions) &&
		(a.LastTriggerError == nil) == (b.LastTriggerError == nil) &&
		(a.LastTriggerError == nil || a.LastTriggerError.Message == b.LastTriggerError.Message)
}

func (p *profiler) reconcile() {
	if refusal := p.aim(); refusal != nil {
		p.triggered(api.TriggerFailed, refusal.Message, refusal)
		return
	}
	active := p.active()
	if run, exists := p.find(p.name); exists {
		p.noteExisting()
		if run.State == api.StateNotStarted && run.BlockedBy != "" && len(active) == 0 {
			p.out.Start = p.name
		}
		p.dropQueued()
		return
	}
	if !p.released() {
		return
	}
	overlap := cmp.Or(p.in.Profile.Spec.OverlapPolicy, api.OverlapQueue)
	blocked := ""
	if len(active) > 0 && overlap != api.OverlapAllow {
		blocked = active[0].Name
	}
	made, refusal := p.make(blocked)
	if refusal != nil {
		p.triggered(api.TriggerFailed, refusal.Message, refusal)
		return
	}
	if !movesAnybody(made, p.in.View, p.in.Now) {
		return
	}
	p.dropQueued()
	p.out.Create = made
	message := "created and started run " + p.name
	switch {
	case blocked == "":
		p.out.Start = p.name
	case overlap == api.OverlapSupersede:
		message = "created run " + p.name + ", which waits for " + blocked + " to stop"
		for _, run := range active {
			if run.State != api.StateStopping {
				p.out.Stop = append(p.out.Stop, run.Name)
			}
		}
	default:
		message = "created run " + p.name + ", which waits for " + blocked + " to end"
	}
	p.triggered(api.TriggerSucceeded, message, nil)
}

// active returns the runs of the profile that are under way, sorted by name.
func (p *profiler) active() []RunHead {
	var out []RunHead
	for _, run := range p.in.Runs {
		if run.Profile == p.in.Profile.Name && (run.State.Active() || run.State == api.StateStopping) {
			out = append(out, run)
		}
	}
	slices.SortFunc(out, func(a, b RunHead) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func (p *profiler) find(name string) (RunHead, bool) {
	i := slices.IndexFunc(p.in.Runs, func(r RunHead) bool { return r.Name == name })
	if i < 0 {
		return RunHead{}, false
	}
	return p.in.Runs[i], true
}

// dropQueued removes the runs of the profile that wait for others and are not the newest.
func (p *profiler) dropQueued() {
	for _, run := range p.in.Runs {
		if run.Profile == p.in.Profile.Name && run.BlockedBy != "" && run.State == api.StateNotStarted && run.Name != p.name {
			p.out.Remove = append(p.out.Remove, run.Name)
		}
	}
	slices.Sort(p.out.Remove)
}

// runName derives the name of a run from everything that makes it what it is, so that the same
// versions never make a second run. Nothing of it comes from what members state (H42).
func (p *profiler) runName() string {
	if p.upgrade.Type == api.UpgradeNodeImageOnly {
		return p.nameOf(p.versions, "catalog")
	}
	return p.nameOf(p.versions)
}

func (p *profiler) nameOf(versions []string, more ...string) string {
	kind, revision := "full", ""
	if p.upgrade.Type == api.UpgradeNodeImageOnly {
		kind = "nodeimage"
	}
	if p.in.Strategy != nil {
		revision = fmt.Sprintf("%s/%s/%d", p.in.Strategy.Name, p.in.Strategy.UID, p.in.Strategy.Generation)
	}
	parts := []string{p.in.Profile.Name, p.in.Profile.Spec.Channel, strings.Join(versions, ","), p.upgrade.Images(), revision}
	sum := sha256.Sum256([]byte(strings.Join(append(parts, more...), "\x00")))
	profile := strings.TrimRight(p.in.Profile.Name[:min(len(p.in.Profile.Name), 20)], "-")
	return fmt.Sprintf("auto-%s-%s-%x", profile, kind, sum[:4])
}

// keepFormer keeps the run that is there since runs were named after the families that members stated: it stands for the same
// as long as the catalog has nothing newer of what it lists. Of several it keeps the one that lists most.
func (p *profiler) keepFormer() {
	if _, exists := p.find(p.name); exists || p.upgrade.Type != api.UpgradeNodeImageOnly {
		return
	}
	var former *RunHead
	for i := range p.in.Runs {
		run := &p.in.Runs[i]
		if run.Profile != p.in.Profile.Name || run.Name != p.nameOf(run.Images) || !p.newest(run.Images) {
			continue
		}
		if former == nil || cmp.Or(cmp.Compare(len(former.Images), len(run.Images)), cmp.Compare(run.Name, former.Name)) < 0 {
			former = run
		}
	}
	if former != nil {
		p.name, p.versions = former.Name, former.Images
	}
}

// newest reports whether the catalog has nothing newer than images.
func (p *profiler) newest(images []string) bool {
	return !slices.ContainsFunc(images, func(name string) bool {
		image, _ := version.ParseImage(name)
		latest, found := p.in.View.Catalog.Latest("", image.Family)
		return !found || latest.Compare(image) != 0
	})
}

// make creates the run, blocked by another one or not.
func (p *profiler) make(blockedBy string) (*NewRun, *api.Refusal) {
	run := api.UpdateRun{
		TypeMeta: metav1.TypeMeta{APIVersion: api.VersionFlotilla, Kind: api.KindUpdateRun},
		ObjectMeta: metav1.ObjectMeta{
			Name: p.name, CreationTimestamp: metav1.NewTime(p.in.Now.UTC().Truncate(time.Second)), Generation: 1,
		},
		Spec: api.UpdateRunSpec{
			StrategyName: p.in.Profile.Spec.StrategyName, Upgrade: p.upgrade, Policy: p.in.Profile.Spec.Policy,
			AutoUpgradeProfile: p.in.Profile.Name,
		},
	}
	status, refusal := Create(&run, p.in.Strategy, p.in.View, p.in.Now)
	if refusal != nil {
		return nil, refusal
	}
	status.BlockedBy = blockedBy
	return &NewRun{Run: run, Status: status}, nil
}

// movesAnybody reports whether a run would do more than skip all its members. Members that only wait
// for something count.
func movesAnybody(made *NewRun, view View, now time.Time) bool {
	e := newEngine(&made.Run, &made.Status, view, now)
	e.bind()
	e.goal = newGoal(&made.Run, &e.Status)
	moves := false
	e.Each(func(m *api.MemberUpdateStatus) {
		v := e.Check(m, e.Opening(m))
		moves = moves || v.State == api.StateRunning || v.State == api.StatePending
	})
	return moves
}
