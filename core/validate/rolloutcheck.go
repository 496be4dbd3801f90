package validate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/strict"
)

// namesCheck checks the name of the RolloutCheck that rollouts stand under.
func (fs rules) namesCheck(annotations map[string]string, at *strict.Place) {
	if name, set := annotations[api.AnnotationRolloutCheck]; set {
		fs.Subdomain(name, at.Child(api.AnnotationRolloutCheck))
	}
}

func rolloutCheckRules(c *api.RolloutCheck) (rules, []string) {
	f, spec := outsideRules(api.KindRolloutCheck, c), strict.At("spec")
	f.Subdomain(c.Name, strict.At("metadata.name"))
	f.span(c.Spec.Soak, spec.Child("soak"), 0, api.MaxCheckSoak)
	f.span(c.Spec.Interval, spec.Child("interval"), api.MinCheckInterval, api.MaxCheckInterval)
	f.span(c.Spec.Timeout, spec.Child("timeout"), api.MinCheckTimeout, api.MaxCheckTimeout)
	if n := c.Spec.FailureLimit; n != nil && (*n < 1 || *n > api.MaxFailureLimit) {
		f.Add(spec.Child("failureLimit"), number(*n), fmt.Sprintf("1 to %d", api.MaxFailureLimit), nil)
	}
	f.choice(c.Spec.OnFailure, spec.Child("onFailure"), api.OnFailureStop, api.OnFailureRollBack)
	f.checks(c.Spec.Checks, spec.Child("checks"))
	return f, append(annotationNotes(c.Annotations), rolloutCheckNotes(&c.Spec)...)
}

// span checks a duration that may be left out.
func (fs rules) span(d *metav1.Duration, at *strict.Place, least, most time.Duration) {
	if d != nil && (d.Duration < least || d.Duration > most) {
		fs.Add(at, d.Duration.String(), fmt.Sprintf("a duration from %s to %s", least, most), nil)
	}
}

func (fs rules) checks(all []api.Check, at *strict.Place) {
	fs.between(len(all), api.MaxChecks, "checks", at)
	for i := range all[:min(len(all), api.MaxChecks)] {
		c, at := &all[i], at.Item(i)
		fs.Label(c.Name, at.Child("name"))
		if slices.ContainsFunc(all[:i], func(other api.Check) bool { return other.Name == c.Name }) && c.Name != "" {
			fs.Add(at.Child("name"), strict.Quote(c.Name)+" again", "each check under a name of its own", nil)
		}
		fs.oneKind(c, at)
		if a := c.Availability; a != nil {
			fs.span(a.Within, at.Child("availability").Child("within"), time.Second, api.MaxCheckWithin)
			if slices.ContainsFunc(all[:i], func(other api.Check) bool { return other.Availability != nil }) {
				fs.Add(at.Child("availability"), "another one", "availability is checked once", nil)
			}
		}
		if p := c.Prometheus; p != nil {
			fs.prometheus(p, at.Child("prometheus"))
		}
		if w := c.Webhook; w != nil {
			fs.Label(w.Webhook, at.Child("webhook").Child("webhook"))
			fs.checkArguments(w.Arguments, at.Child("webhook").Child("arguments"))
		}
		if r := c.Command; r != nil {
			fs.Label(r.Command, at.Child("command").Child("command"))
			fs.checkArguments(r.Arguments, at.Child("command").Child("arguments"))
		}
	}
}

// oneKind refuses a check that is of no kind, or of several.
func (fs rules) oneKind(c *api.Check, at *strict.Place) {
	kinds := 0
	for _, there := range []bool{c.Availability != nil, c.Prometheus != nil, c.Webhook != nil, c.Command != nil} {
		if there {
			kinds++
		}
	}
	if kinds != 1 {
		fs.Add(at, fmt.Sprintf("%d of them", kinds), "one of availability, prometheus, webhook and command", nil)
	}
}

func (fs rules) prometheus(p *api.PrometheusCheck, at *strict.Place) {
	fs.Label(p.Server, at.Child("server"))
	switch {
	case p.Query == "":
		fs.Add(at.Child("query"), "nothing", "a PromQL expression", nil)
	case len(p.Query) > api.MaxCheckQuery:
		fs.Add(at.Child("query"), fmt.Sprintf("%d bytes", len(p.Query)), fmt.Sprintf("at most %d", api.MaxCheckQuery), nil)
	}
	if p.Min == nil && p.Max == nil {
		fs.Add(at, "neither min nor max", "a bound that the values of the answer keep to", nil)
	}
	if p.Min != nil && p.Max != nil && *p.Min > *p.Max {
		fs.Add(at.Child("min"), shownNumber(*p.Min), "at most max, "+shownNumber(*p.Max), nil)
	}
}

func shownNumber(n strict.Decimal) string { return strconv.FormatFloat(float64(n), 'g', -1, 64) }

func (fs rules) checkArguments(arguments map[string]string, at *strict.Place) {
	if len(arguments) > api.MaxCheckArguments {
		fs.Add(at, fmt.Sprintf("%d arguments", len(arguments)), fmt.Sprintf("at most %d", api.MaxCheckArguments), nil)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		fs.qualifiedName(name, at.Child(name))
		if len(arguments[name]) > api.MaxCheckArgument {
			fs.Add(at.Child(name), fmt.Sprintf("%d bytes", len(arguments[name])), fmt.Sprintf("at most %d", api.MaxCheckArgument), nil)
		}
	}
}

// rolloutCheckNotes remarks on what is allowed, and rarely meant.
func rolloutCheckNotes(s *api.RolloutCheckSpec) []string {
	if soak := s.SoakTime(); soak > 0 && s.Every() > soak {
		return []string{fmt.Sprintf("spec.interval %s is longer than spec.soak %s: checks are asked when the soak time begins and when it is over, and not in between", s.Every(), soak)}
	}
	return nil
}
