package upgrade_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/core/upgrade"
	"flotilla/core/validate/upgrades"
	"flotilla/core/version"
	"flotilla/core/window"
)

// scene executes the commands of a scenario:
//
//	fixture                      the catalog F of the specification
//	no-catalog                   takes the catalog away
//	members                      one a line: NAME group=g1 region=weu cp=1.29.2 pools=np1:U-202312.11.0@1.29.2 …
//	                             a pool may end in !system or !snapshot
//	set NAME key=value …         changes a member now
//	remove NAME                  takes it out of the fleet
//	publish                      one a line: kubernetes VERSION STATE REGION…, image NAME REGION… or tracker URL
//	strategy|profile|window NAME YAML of its spec
//	drop-strategy NAME
//	create|edit NAME             YAML of an UpdateRun's spec
//	start|stop|approve|skip|rerun|delete RUN …
//	clock TIME                   sets the clock; until TIME lets things happen up to it
//	settle                       lets everything happen that is due now
//	tree|limits|show|commands RUN …
//	freeze|unfreeze SCOPE        runs, fleet, or member.NAME
//	class|opens WINDOW …         asks a schedule
//	compare|images A B           orders versions and images
//
// Times are RFC3339, or HH:MM[:SS] of the current day. U, W, L and O stand for image families.
type scene struct {
	*world
	windows map[string]api.MaintenanceWindow
	said    int // events printed so far
}

func newScene(t *testing.T) *scene {
	t.Helper()
	return &scene{world: newWorld(t, instant("2026-11-20T09:00:00Z")), windows: map[string]api.MaintenanceWindow{}}
}

func instant(text string) time.Time {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return at
}

// families are the short names of image families in scenarios.
var families = map[string]string{
	"U": "AKSUbuntu-2204gen2containerd", "W": "AKSWindows-2022-containerd",
	"L": "AKSAzureLinux-V2gen2", "O": "AKSUbuntu-1804gen2containerd",
}

func fullImage(short string) string {
	family, version, found := strings.Cut(short, "-")
	if full, known := families[family]; known && found {
		return full + "-" + version
	}
	return short
}

func shortImages(text string) string {
	for short, full := range families {
		text = strings.ReplaceAll(text, full, short)
	}
	return text
}

func (s *scene) time(text string) time.Time {
	if strings.Contains(text, "T") {
		return instant(text)
	}
	if strings.Count(text, ":") == 1 {
		text += ":00"
	}
	return instant(s.now.Format("2006-01-02") + "T" + text + "Z")
}

// command executes one command and returns its output.
func (s *scene) command(words []string, input string) string {
	s.t.Helper()
	var out string
	verb, args := words[0], words[1:]
	handlers := map[string]func([]string, string) string{
		"fixture": s.fixture, "no-catalog": s.noCatalog, "plan": s.plan, "commands": s.commands, "members": s.members, "set": s.set, "remove": s.remove, "publish": s.publish,
		"strategy": s.strategy, "drop-strategy": s.dropStrategy, "profile": s.profile, "profile-status": s.profileStatus,
		"generate": s.generate, "window": s.window, "create": s.createRun, "edit": s.edit, "delete": s.delete,
		"start": s.start, "stop": s.operation(api.VerbRunStop), "approve": s.approve, "skip": s.skip, "rerun": s.rerun,
		"clock": s.clock, "until": s.passUntil, "settle": s.settleNow, "tree": s.tree, "limits": s.limits, "show": s.show,
		"class": s.class, "opens": s.opens, "compare": s.compare, "images": s.images, "runs": s.list, "gates": s.gates,
		"delete-gate": s.deleteGate, "highest": s.highest, "resolved": s.resolved, "executed": s.executions, "locks": s.lockList,
		"freeze": s.freeze, "unfreeze": s.unfreeze,
	}
	if len(args) > 0 {
		args[0] = s.expand(args[0])
	}
	handler, ok := handlers[verb]
	require.True(s.t, ok, "there is no command %s", verb)
	out = handler(args, input)
	if out != "" && !strings.HasSuffix(out, "\n") {
		out += "\n"
	}
	return out
}

// expand completes a run's name that ends in a star.
func (s *scene) expand(name string) string {
	prefix, starred := strings.CutSuffix(name, "*")
	if !starred {
		return name
	}
	for run := range s.runs {
		if strings.HasPrefix(run, prefix) {
			return run
		}
	}
	return name
}

// news prints the events since the last time, each with its time.
func (s *scene) news() string {
	var b strings.Builder
	for _, e := range s.events[s.said:] {
		when := e.At.Format("15:04:05")
		if e.At.Format("2006-01-02") != "2026-11-20" {
			when = e.At.Format("01-02 15:04:05")
		}
		if e.Scope == "note" {
			fmt.Fprintf(&b, "%s %s\n", when, e.Message)
			continue
		}
		name := e.Name
		if len(s.runs) > 1 {
			name = strings.TrimSuffix(e.Run+":"+e.Name, ":")
		}
		line := strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s", e.Scope, name, e.To, eventReason(&e))), " ")
		fmt.Fprintf(&b, "%s %s\n", when, line)
	}
	s.said = len(s.events)
	return b.String()
}

func eventReason(e *stage.Event) string {
	switch e.To {
	case api.StatePending, api.StateSkipped, api.StateFailed:
		return e.Reason
	default:
		return ""
	}
}

func refused(r *api.Refusal) string {
	var b strings.Builder
	fmt.Fprintf(&b, "refused %s %s\n", r.Status(), r.Code)
	if len(r.Faults) == 0 {
		fmt.Fprintf(&b, "  %s\n", r.Message)
	}
	for _, f := range r.Faults {
		fmt.Fprintf(&b, "  %s: found %s\n", f.Path, f.Found)
	}
	return b.String()
}

func (s *scene) decode(input string, into any) {
	require.NoError(s.t, yaml.UnmarshalStrict([]byte(input), into), input)
}

func (s *scene) fixture([]string, string) string {
	all, most := []string{"aue", "eus", "weu"}, []string{"eus", "weu"}
	s.catalog = &api.VersionCatalogSpec{}
	for _, v := range []string{"1.28.9", "1.28.15", "1.29.2", "1.29.4", "1.29.9", "1.30.3", "1.30.5", "1.31.0"} {
		release := api.KubernetesRelease{Version: v, State: api.ReleaseGA, Regions: all}
		switch v {
		case "1.29.9", "1.30.5":
			release.Regions = most
		case "1.31.0":
			release.State = api.ReleasePreview
		}
		s.catalog.Kubernetes = append(s.catalog.Kubernetes, release)
	}
	for _, image := range []struct {
		short   string
		regions []string
	}{
		{"U-202312.11.0", []string{"aue"}},
		{"U-202401.03.0", all},
		{"U-202401.09.0", most},
		{"U-202401.17.1", []string{"weu"}},
		{"W-20348.2582.240716", most},
		{"W-20348.2582.240916", []string{"weu"}},
	} {
		s.addImage(image.short, image.regions)
	}
	return ""
}

func (s *scene) noCatalog([]string, string) string {
	s.catalog = nil
	return ""
}

func (s *scene) addImage(short string, regions []string) {
	image, ok := version.ParseImage(fullImage(short))
	require.True(s.t, ok, short)
	s.catalog.NodeImages = append(s.catalog.NodeImages, api.NodeImageRelease{
		Family: image.Family, Version: image.Version, Regions: regions, PublishedAt: metav1.NewTime(s.now),
	})
}

func (s *scene) publish(_ []string, input string) string {
	for line := range strings.Lines(input) {
		words := strings.Fields(line)
		switch words[0] {
		case "image":
			s.publishImage(words[1], words[2:])
			continue
		case "tracker":
			s.catalog.TrackerURL = words[1]
			continue
		}
		i := slices.IndexFunc(s.catalog.Kubernetes, func(r api.KubernetesRelease) bool { return r.Version == words[1] })
		if i < 0 {
			s.catalog.Kubernetes = append(s.catalog.Kubernetes, api.KubernetesRelease{
				Version: words[1], State: words[2], Regions: words[3:], PublishedAt: metav1.NewTime(s.now),
			})
			continue
		}
		s.catalog.Kubernetes[i].Regions = append(slices.Clip(s.catalog.Kubernetes[i].Regions), words[3:]...)
	}
	s.settle()
	return s.news()
}

func (s *scene) publishImage(short string, regions []string) {
	for i := range s.catalog.NodeImages {
		if image := &s.catalog.NodeImages[i]; image.Family+"-"+image.Version == fullImage(short) {
			image.Regions = append(slices.Clip(image.Regions), regions...)
			return
		}
	}
	s.addImage(short, regions)
}

func (s *scene) members(_ []string, input string) string {
	for line := range strings.Lines(input) {
		words := strings.Fields(line)
		for name := range strings.SplitSeq(words[0], ",") {
			facts := upgrade.MemberFacts{
				Name: name, UID: "uid-" + name, Eligible: true, Reachable: true, Labels: map[string]string{"topology.kubernetes.io/region": "weu"}, LastSeen: s.now,
				Inventory: api.MemberInventory{Member: name, Region: "weu", ControlPlaneVersion: "1.29.2"},
			}
			facts.Inventory.NodePools = s.pools("np1:U-202312.11.0@1.29.2")
			delete(s.agents, name)
			s.change(&facts, words[1:])
			require.NoError(s.t, s.fleet.Set(facts))
		}
	}
	return ""
}

func (s *scene) set(args []string, _ string) string {
	m, ok := s.fleet.Member(args[0])
	require.True(s.t, ok, "member %s", args[0])
	facts := m.MemberFacts
	s.change(&facts, args[1:])
	require.NoError(s.t, s.fleet.Set(facts))
	s.settle()
	return s.news()
}

// change applies key=value settings to a member.
func (s *scene) change(f *upgrade.MemberFacts, settings []string) {
	b := s.agents[f.Name]
	for _, setting := range settings {
		key, value, _ := strings.Cut(setting, "=")
		switch key {
		case "group":
			f.Group = value
		case "region":
			f.Inventory.Region, f.Labels["topology.kubernetes.io/region"] = value, value
		case "agent":
			f.Agent.Stated = append(f.Agent.Stated, value)
		case "stated":
			f.Inventory.Region = value
			delete(f.Labels, "topology.kubernetes.io/region")
		case "cp":
			f.Inventory.ControlPlaneVersion = value
			for i := range f.Inventory.NodePools {
				f.Inventory.NodePools[i].KubernetesVersion = value
			}
		case "pools":
			f.Inventory.NodePools = s.pools(value)
		case "label":
			name, text, _ := strings.Cut(value, ":")
			f.Labels[name] = text
		case "window", "node-window":
			s.setWindow(f, key, value)
		case "power":
			f.Inventory.PowerState = value
		case "reachable":
			f.Reachable = value == "yes"
		case "seen":
			f.LastSeen = s.time(value)
		case "observed":
			f.Inventory.Observed = metav1.NewTime(s.time(value))
		case "busy":
			f.Inventory.CurrentOperation = value
		case "lts":
			f.Inventory.LongTermSupport = true
		case "eligible":
			f.Eligible = value == "yes"
		case "id":
			f.UID = value
		case "minutes":
			minutes, err := time.ParseDuration(value + "m")
			require.NoError(s.t, err)
			b.duration = minutes
		case "fails":
			b.fails = map[string]int{"never": 0, "once": 1, "twice": 2, "always": -1}[value]
		case "outcome":
			b.outcome = value
		case "silent":
			b.silent = true
		case "late":
			late, err := time.ParseDuration(value)
			require.NoError(s.t, err)
			b.late = late
		default:
			require.Fail(s.t, "no setting "+key)
		}
	}
	s.agents[f.Name] = b
}

func (s *scene) setWindow(f *upgrade.MemberFacts, key, name string) {
	w, ok := s.windows[name]
	require.True(s.t, ok || name == "none", "window %s", name)
	maintenance := api.MaintenanceConfiguration{}
	if f.Maintenance != nil {
		maintenance = *f.Maintenance
	}
	schedule := &w
	if name == "none" {
		schedule = nil
	}
	if key == "window" {
		maintenance.AutoUpgrade = schedule
	} else {
		maintenance.NodeOSUpgrade = schedule
	}
	f.Maintenance = &maintenance
}

func (s *scene) pools(text string) []api.NodePoolFacts {
	var pools []api.NodePoolFacts
	for pool := range strings.SplitSeq(text, ",") {
		name, rest, _ := strings.Cut(pool, ":")
		image, version, _ := strings.Cut(rest, "@")
		version, fromSnapshot := strings.CutSuffix(version, "!snapshot")
		version, system := strings.CutSuffix(version, "!system")
		facts := api.NodePoolFacts{Name: name, NodeImageVersion: fullImage(image), KubernetesVersion: version, FromSnapshot: fromSnapshot}
		if system {
			facts.Mode = "System"
		}
		pools = append(pools, facts)
	}
	return pools
}

func (s *scene) remove(args []string, _ string) string {
	s.fleet.Remove(args[0])
	s.settle()
	return s.news()
}

func (s *scene) strategy(args []string, input string) string {
	strategy := &api.UpdateStrategy{ObjectMeta: metav1.ObjectMeta{Name: args[0], Generation: 1}}
	if old, ok := s.plans[args[0]]; ok {
		strategy.Generation = old.Generation + 1
	}
	s.decode(input, &strategy.Spec)
	if refusal := api.InvalidArgument(upgrades.UpdateStrategy(strategy)); refusal != nil {
		return refused(refusal)
	}
	s.plans[args[0]] = strategy
	out := "ok\n"
	warnings := upgrade.StrategyWarnings(strategy, s.fleet, s.now)
	for _, warning := range warnings[:min(len(warnings), 2)] {
		out += "  warning: " + warning + "\n"
	}
	if len(warnings) > 2 {
		out += fmt.Sprintf("  and %d warnings more\n", len(warnings)-2)
	}
	return out
}

func (s *scene) dropStrategy(args []string, _ string) string {
	delete(s.plans, args[0])
	return ""
}

func (s *scene) window(args []string, input string) string {
	var w api.MaintenanceWindow
	s.decode(input, &w)
	if _, err := window.Parse("window", &w, time.LoadLocation); err != nil {
		return err.Error()
	}
	s.windows[args[0]] = w
	return ""
}

func (s *scene) clock(args []string, _ string) string {
	s.now = s.time(args[0])
	return ""
}

func (s *scene) passUntil(args []string, _ string) string {
	s.until(s.time(args[0]))
	return s.news()
}

func (s *scene) settleNow([]string, string) string {
	s.settle()
	return s.news()
}
