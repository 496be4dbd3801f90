package validate

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/core/api"
	"flotilla/core/strict"
)

// stageNamePattern is KubeFleet's: such a name is part of those of approval requests.
var stageNamePattern = regexp.MustCompile(`^[a-z0-9]+$`)

// shareOfMembers is a percentage of members that is not none of them.
var shareOfMembers = regexp.MustCompile(`^([1-9]\d?|100)%$`)

func stagedStrategyRules(s *api.StagedUpdateStrategy) (rules, []string) {
	f := stagedMeta(s.Kind, api.KindStagedUpdateStrategy, &s.ObjectMeta)
	f.contentStages(s.Spec.Stages, strict.At("spec.stages"))
	f.namesCheck(s.Annotations, strict.At("metadata.annotations"))
	f.keepsToWindows(s.Annotations)
	return f, annotationNotes(s.Annotations, api.AnnotationRolloutCheck, api.AnnotationWindows)
}

func stagedRunRules(r *api.StagedUpdateRun) (rules, []string) {
	f := stagedMeta(r.Kind, api.KindStagedUpdateRun, &r.ObjectMeta)
	spec := strict.At("spec")
	f.Subdomain(r.Spec.PlacementName, spec.Child("placementName"))
	f.Subdomain(r.Spec.StrategyName, spec.Child("stagedRolloutStrategyName"))
	f.choice(r.Spec.State, spec.Child("state"), api.RunInitialize, api.RunRun, api.RunStop)
	if index := r.Spec.ResourceSnapshotIndex; index != "" {
		if n, err := strconv.ParseInt(index, 10, 64); err != nil || n < 1 {
			f.Add(spec.Child("resourceSnapshotIndex"), strict.Quote(index), "the number of a revision, as `flotilla rollout history` lists it", nil)
		}
	}
	f.keepsToWindows(r.Annotations)
	return f, annotationNotes(r.Annotations, api.AnnotationWindows)
}

// keepsToWindows checks the annotation by which a run keeps to maintenance windows.
func (fs rules) keepsToWindows(annotations map[string]string) {
	if v, set := annotations[api.AnnotationWindows]; set && v != "true" && v != "false" {
		fs.Add(strict.At("metadata.annotations").Child(api.AnnotationWindows), strict.Quote(v), `"true" or "false"`, nil)
	}
}

// stagedMeta holds the metadata of a kind and its namespaced twin to where they lie.
func stagedMeta(kind, twin string, meta *metav1.ObjectMeta) rules {
	f := newRules()
	if kind != twin {
		f = outsideRules(kind, meta)
		f.Subdomain(meta.Name, strict.At("metadata.name"))
		return f
	}
	at := strict.At("metadata")
	f.Subdomain(meta.Name, at.Child("name"))
	if meta.Namespace == "" {
		f.Add(at.Child("namespace"), "nothing", "the namespace of the ResourcePlacement", nil)
	} else {
		f.Label(meta.Namespace, at.Child("namespace"))
	}
	f.labels(meta.Labels, at.Child("labels"))
	f.annotations(meta.Annotations, at.Child("annotations"))
	return f
}

func (fs rules) contentStages(stages []api.ContentStage, at *strict.Place) {
	fs.between(len(stages), api.MaxContentStages, "stages", at)
	for i := range stages[:min(len(stages), api.MaxContentStages)] {
		s, at := &stages[i], at.Item(i)
		fs.contentStageName(s.Name, at.Child("name"))
		if slices.ContainsFunc(stages[:i], func(other api.ContentStage) bool { return other.Name == s.Name }) && s.Name != "" {
			fs.Add(at.Child("name"), strict.Quote(s.Name)+" again", "each stage under a name of its own", nil)
		}
		fs.labelSelector(s.LabelSelector, at.Child("labelSelector"))
		if key := s.SortingLabelKey; key != nil {
			fs.qualifiedName(*key, at.Child("sortingLabelKey"))
		}
		fs.contentConcurrency(s.MaxConcurrency, at.Child("maxConcurrency"))
		fs.stageTasks(s.BeforeStageTasks, at.Child("beforeStageTasks"), 1, "a "+api.TaskTimedWait+" stands behind a stage", api.TaskApproval)
		fs.stageTasks(s.AfterStageTasks, at.Child("afterStageTasks"), api.MaxContentAfter, "", api.TaskTimedWait, api.TaskApproval)
	}
}

func (fs rules) contentStageName(name string, at *strict.Place) {
	if len(name) > strict.MaxName || !stageNamePattern.MatchString(name) {
		fs.Add(at, shown(name), fmt.Sprintf("1 to %d lower-case letters and digits", strict.MaxName), nil)
	}
}

// contentConcurrency checks a number of members, or a percentage of them, of which neither is 0.
func (fs rules) contentConcurrency(v *intstr.IntOrString, at *strict.Place) {
	switch {
	case v == nil:
	case v.Type == intstr.Int && v.IntVal < 1:
		fs.Add(at, number(v.IntVal), `a number of 1 or more, or a percentage from "1%" to "100%"`, nil)
	case v.Type == intstr.String && !shareOfMembers.MatchString(v.StrVal):
		fs.Add(at, strict.Quote(v.StrVal), `a number of 1 or more, or a percentage from "1%" to "100%"`, nil)
	}
}

// stageTasks checks the tasks on one side of a stage: each type once; elsewhere says where another type may stand.
func (fs rules) stageTasks(tasks []api.StageTask, at *strict.Place, most int, elsewhere string, types ...string) {
	if len(tasks) > most {
		fs.Add(at, listOf(len(tasks)), fmt.Sprintf("at most %d, each of another type", most), nil)
	}
	for i := range tasks[:min(len(tasks), most)] {
		t, at := &tasks[i], at.Item(i)
		if !slices.Contains(types, t.Type) {
			fs.Add(at.Child("type"), shown(t.Type), strings.TrimSuffix(oneOf(types)+"; "+elsewhere, "; "), nil)
		}
		if slices.ContainsFunc(tasks[:i], func(other api.StageTask) bool { return other.Type == t.Type }) {
			fs.Add(at.Child("type"), strict.Quote(t.Type)+" again", "each type once", nil)
		}
		fs.waitTime(t, at.Child("waitTime"))
	}
}

func (fs rules) waitTime(t *api.StageTask, at *strict.Place) {
	const most = api.MaxContentTaskWait * time.Second
	switch {
	case t.Type == api.TaskApproval && t.WaitTime != nil:
		fs.Add(at, t.WaitTime.Duration.String(), "nothing: an approval waits for somebody", nil)
	case t.Type != api.TaskTimedWait:
	case t.WaitTime == nil:
		fs.Add(at, "nothing", "how long to wait, such as 30m", nil)
	case t.WaitTime.Duration <= 0 || t.WaitTime.Duration > most:
		fs.Add(at, t.WaitTime.Duration.String(), "more than 0, at most 720h", nil)
	}
}

// defaultStagedRun fills in what a run leaves out.
func defaultStagedRun(r *api.StagedUpdateRun) { defaultString(&r.Spec.State, api.RunInitialize) }

// defaultStagedStrategy fills in what a strategy leaves out.
func defaultStagedStrategy(s *api.StagedUpdateStrategy) {
	for i := range s.Spec.Stages {
		if at := &s.Spec.Stages[i].MaxConcurrency; *at == nil {
			*at = new(intstr.FromInt32(1))
		}
	}
}

// turns are the states that a run of a state may be asked to turn to.
var turns = map[string][]string{
	api.RunInitialize: {api.RunInitialize, api.RunRun},
	api.RunRun:        {api.RunRun, api.RunStop},
	api.RunStop:       {api.RunStop, api.RunRun},
}

// stagedRunChange refuses to change anything of a run but the state it is wanted in, and that in a way that means nothing.
func stagedRunChange(is, was *api.StagedUpdateRun) strict.Faults {
	f, spec := newRules(), strict.At("spec")
	for _, field := range []struct{ name, is, was string }{
		{"placementName", is.Spec.PlacementName, was.Spec.PlacementName},
		{"resourceSnapshotIndex", is.Spec.ResourceSnapshotIndex, was.Spec.ResourceSnapshotIndex},
		{"stagedRolloutStrategyName", is.Spec.StrategyName, was.Spec.StrategyName},
	} {
		if field.is != field.was {
			f.Add(spec.Child(field.name), shown(field.is), shown(field.was)+": it cannot change; make a run of another name", nil)
		}
	}
	from, to := stateOr(was.Spec.State), stateOr(is.Spec.State)
	if !slices.Contains(turns[from], to) {
		f.Add(spec.Child("state"), strict.Quote(to), oneOf(turns[from])+": a run of state "+from+" cannot turn to it", nil)
	}
	return f.Faults(api.ObjectRef{Kind: is.Kind, Namespace: is.Namespace, Name: is.Name}.String())
}

// shown quotes a value for people, "nothing" when it is empty.
func shown(value string) string {
	if value == "" {
		return "nothing"
	}
	return strict.Quote(value)
}

func stateOr(state string) string {
	if state == "" {
		return api.RunInitialize
	}
	return state
}

// approval reads an approval request: of it only the condition Approved counts, which is in the status.
func (r *reading) approval() {
	value := &api.ApprovalRequest{}
	r.strict(value)
	r.out.Value = value
	r.out.serverSet = slices.DeleteFunc(r.out.serverSet, func(field string) bool { return field == "status" })
	r.check(stagedMeta(value.Kind, api.KindApprovalRequest, &value.ObjectMeta))
}
